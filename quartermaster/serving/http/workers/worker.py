"""One worker: a process that opens the snapshot, answers at the shared socket, and tells its supervisor how it is."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from starlette.types import ASGIApp

from quartermaster.serving.http.application import Served, app_of
from quartermaster.serving.http.connections import Connections
from quartermaster.serving.http.server import HttpServer, configure_logs
from quartermaster.serving.http.service import Service
from quartermaster.serving.http.settings import HttpSettings
from quartermaster.serving.http.shared import Shared
from quartermaster.serving.http.workers.channel import Channel
from quartermaster.serving.http.workers.exposition import FleetExposition, count_in
from quartermaster.serving.http.workers.messages import Ending, Failed
from quartermaster.serving.http.workers.run_folder import RunFolder
from quartermaster.serving.rate_limit import RateLimit
from router.errors import QuartermasterError

CLOSING_S = 5.0  # for the router and the feedback log to close, once the last request is answered
_TICKS = 10  # of uvicorn, a second: so often a worker tells its state
_LOOK_S = 0.05
_logger = logging.getLogger("router.http")

OpenServed = Callable[[], Served]
"""Opens what a worker serves, in the worker. It can be pickled: a function of a module, or an object of its class."""


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """What a worker is started with. All of it can be sent to a new process."""

    open_served: OpenServed
    settings: HttpSettings
    listening: socket.socket
    connection: socket.socket
    folder: Path
    place: int


def run_worker(task: WorkerTask) -> None:
    """Serve until the supervisor says so or is gone. Exits with 1 where it cannot start, and has told why."""
    # The supervisor alone obeys a terminal that hangs up; it blocks these two until a worker can.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGHUP, signal.SIGINT))
    settings = task.settings
    channel = Channel(task.connection, settings.stop_timeout_s + CLOSING_S)
    run = RunFolder(task.folder)
    try:
        configure_logs(workers=True)
        try:
            count_in(run.metrics, task.place)
            served = task.open_served()
        except QuartermasterError as error:
            channel.send(Failed.of(error))
            raise SystemExit(1) from None
        with served.router:
            try:
                service = _service(served, settings, run, task.place)
            except QuartermasterError as error:
                channel.send(Failed.of(error))
                raise SystemExit(1) from None
            app = app_of(service, folder=served.folder, inspect=served.inspect, cost=served.cost)
            _WorkerServer(app, service, channel).answer(task.listening)
    finally:
        run.leave()


def _service(served: Served, settings: HttpSettings, run: RunFolder, place: int) -> Service:
    shared = Shared(
        exposition=FleetExposition(run, place, lambda: service.state()),
        client_limit=partial(RateLimit, busy=run.busy_clients("client")),
        token_limit=partial(RateLimit, busy=run.busy_clients("token")),
    )
    service = Service.open(served.router, settings, shared)
    return service


class _WorkerServer(HttpServer):
    """Tells the supervisor its state once a second, from the event loop: a loop that hangs is silent."""

    def __init__(self, app: ASGIApp, service: Service, channel: Channel) -> None:
        # One at a time: each worker that is free takes one, and none of them sixteen.
        settings = service.settings
        super().__init__(app, settings, Connections(settings.of_one_worker()), accepted_at_once=1)
        self._service, self._channel = service, channel
        self._drains = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the app, accept connections, and tell."""
        await super().startup(sockets)
        self._channel.on_drain(self._drain)
        self._tell()

    async def on_tick(self, counter: int) -> bool:
        """Tell the state, and return whether to end."""
        if counter % _TICKS == 0:
            self._tell()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new connection, and end. A worker that drains lets its clients leave at their next answer."""
        self._channel.send(Ending())
        if self._drains:
            await self._let_clients_leave()
        self._service.metrics.look()
        await super().shutdown(sockets)

    def _drain(self) -> None:
        self._drains = self.should_exit = True

    def _tell(self) -> None:
        self._service.metrics.look()
        self._channel.send(self._service.state())

    async def _let_clients_leave(self) -> None:
        """Answer the next request of each open connection, and say in its answer that the connection closes.

        To close an idle one at once would lose the request that is on its way. One that is not used closes as ever,
        after `keep_alive_s`.
        """
        for server in self.servers:
            server.close()
        state = self.server_state
        state.default_headers = [*state.default_headers, (b"connection", b"close")]
        loop = asyncio.get_running_loop()
        end = loop.time() + min(self._service.settings.keep_alive_s + 1, self._service.settings.stop_timeout_s)
        while state.connections and loop.time() < end and not self._captured_signals:
            await asyncio.sleep(_LOOK_S)
