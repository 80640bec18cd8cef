"""A small app behind the guard, under `serve`, as a process: python bounded_server.py SETTINGS PORT

/ answers with the length of the body, /large with 8 MB; /hold ends its answer when the client leaves.
"""

import json
import sys
from typing import Any

from starlette.types import Receive, Scope, Send

from router.serving.http import HttpSettings, listen, serve
from router.serving.http.request_guard import RequestGuard

_LARGE = b"x" * (8 << 20)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        for _ in range(2):
            await send({"type": f"{(await receive())['type']}.complete"})
        return
    if scope["path"] in ("/healthz", "/large"):
        await answer(send, _LARGE if scope["path"] == "/large" else b"ok")
        return
    body = (await receive())["body"]
    if scope["path"] == "/hold":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        return
    await answer(send, str(len(body)).encode())


async def answer(send: Send, body: bytes) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main(settings: dict[str, Any], port: int) -> None:
    bounds = HttpSettings(port=port, requests_per_minute=None, **settings)
    with listen(bounds) as listening:
        serve(RequestGuard(app, bounds), bounds, listening)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]))
