"""Print the OpenAPI document of the installed Prefect server, which it builds from its own code. No server is started.

Needs the extra `flows`. Standard output holds the document and nothing else.
"""

import contextlib
import json
import os
import sys
import tempfile

# The document is the installation's, whoever builds: no profile, home or setting of theirs may change it.
for variable in [name for name in os.environ if name.startswith("PREFECT_")]:
    del os.environ[variable]

with tempfile.TemporaryDirectory() as home, contextlib.redirect_stdout(sys.stderr):
    # Read when Prefect is imported.
    os.environ.update(
        PREFECT_HOME=home,
        PREFECT_LOGGING_LEVEL="CRITICAL",
        PREFECT_SERVER_ANALYTICS_ENABLED="false",
        DO_NOT_TRACK="1",
    )
    from prefect.server.api.server import create_app

    document = create_app(ephemeral=True).openapi()  # ephemeral: without the pages of its user interface

json.dump(document, sys.stdout)
