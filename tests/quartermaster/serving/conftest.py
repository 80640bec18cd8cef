"""An app over the run's router, and a client that speaks to it in this process."""

import base64
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from router import Router
from tests.support.profiles import written

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TOKEN = "0123456789abcdef-token"

Ask = Callable[..., "TestClient"]


def bearer(token: str) -> dict[str, str]:
    """The header of a program."""
    return {"Authorization": f"Bearer {token}"}


def basic(password: str) -> dict[str, str]:
    """The header of a browser."""
    return {"Authorization": "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()}


@pytest.fixture(scope="module")
def client_of(snapshot: Path) -> Iterator[Ask]:
    """Make a client of an app over a router with these settings; without arguments, of one as it is by default."""
    from starlette.testclient import TestClient

    from quartermaster.serving.http import HttpSettings, app

    with ExitStack() as stack:

        def make(router: Router | None = None, inspect: Any = None, **settings: Any) -> "TestClient":
            opened = router or stack.enter_context(Router.open(snapshot))
            application = app(opened, HttpSettings(**settings), inspect=inspect)
            client = TestClient(application, base_url="http://localhost", raise_server_exceptions=False)
            return stack.enter_context(client)

        yield make


@pytest.fixture(scope="module")
def client(client_of: Ask) -> "TestClient":
    """A client of an app as it is by default."""
    return client_of()


@pytest.fixture
def profiles_file(tmp_path: Path) -> Path:
    """A file of profiles and tokens, as an operator writes it."""
    return written(tmp_path / "profiles.toml")


@contextmanager
def served_app(app: Any) -> Iterator[int]:
    """The port at which an app is served by a thread of this process."""
    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # so that a client who comes first waits, and is not refused
        config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
        program = uvicorn.Server(config)
        thread = threading.Thread(target=program.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            program.should_exit = True
            thread.join()
