"""The router over HTTP: `app` for any ASGI server, `serve` with uvicorn, `serve_workers` with several processes.

Needs the extra `serve`.

    >>> from router import Router
    >>> from quartermaster.serving.http import HttpSettings, app
    >>> application = app(Router.open(".quartermaster/snapshots/demo", watch=5), HttpSettings())

`application` joins the `operations` and the pages with the layers around them (`access_log`, `request_guard`);
`messages` are the types that `/openapi.json` publishes.
"""

from quartermaster.serving.http.application import Served, app
from quartermaster.serving.http.server import address_of, configure_logs, listen, serve
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.http.workers import serve_workers

__all__ = ["HttpSettings", "Served", "address_of", "app", "configure_logs", "listen", "serve", "serve_workers"]
