"""Where a user's own files lie, beside those of a catalog and a workspace."""

import os
from pathlib import Path


def config_folder() -> Path:
    """Return the folder of what a user has set up once for all catalogs; it need not exist."""
    name = "APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME"
    return Path(os.environ.get(name) or Path.home() / ".config") / "quartermaster"
