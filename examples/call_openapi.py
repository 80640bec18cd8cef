"""Call the operations of an HTTP API through a catalog: read-only first, with the key in the environment.

    pip install '.[build,serve]'        (in a checkout of Quartermaster)
    python call_openapi.py

The bakery at the end of this file stands for your API, with its key. In its place: the document of your API, and its
address in `calls.toml`. No model is asked: the requests and arguments below are what one would send.
"""

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import APIKeyHeader
from pydantic import BaseModel

from pipeline.build import build
from pipeline.settings import load
from quartermaster.calling import HttpCaller, read_call_settings
from router import Router

WORKSPACE = Path(os.environ.get("QUARTERMASTER_WORKSPACE", ".quartermaster"))
CALLS = """
[provider.bakery]
base_url = "{address}"
auth = {{ type = "api_key", name = "X-Bakery-Key", value = "${{BAKERY_KEY}}" }}
"""


def built(document: dict[str, Any]) -> Router:
    """Return a router over the operations of a document."""
    path = WORKSPACE / "bakery.openapi.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    # By words alone: nothing to download. Without the override, the build takes the encoder that it finds.
    return Router.open(build(load(path, {"vectors": {"encoder": "none"}}), workspace=WORKSPACE).snapshot)


async def main() -> None:
    """Find tools by request, and call them: reading at once, writing once the settings allow it."""
    os.environ.setdefault("BAKERY_KEY", "crust-and-crumb")
    settings_file = WORKSPACE / "calls.toml"
    with served(bakery) as address, built(bakery.openapi()) as router:
        settings_file.write_text(CALLS.format(address=address), encoding="utf-8")
        call = HttpCaller(router, read_call_settings(settings_file))
        tool = router.route("which breads are on the shelf", k=1)[0].tool_id
        print(tool, await call(tool, {"kind": "bread"}))
        print(tool, await call(tool, {"kind": "shoes"}))

        tool = router.route("order two loaves for a customer", k=1)[0].tool_id
        order = {"customer": "Ada & Co", "product": "rye", "pieces": 2}
        print(tool, await call(tool, order))
        preview = call.preview(tool, order).value
        print("would send", preview["method"], preview["url"].removeprefix(address), json.dumps(preview["body"]))
        print("with the key", preview["headers"]["X-Bakery-Key"])

        settings_file.write_text(CALLS.format(address=address) + 'allow = ["POST"]\n', encoding="utf-8")
        call = HttpCaller(router, read_call_settings(settings_file))
        print(tool, await call(tool, order))


bakery = FastAPI(title="Bakery", generate_unique_id_function=lambda route: route.name)


class Order(BaseModel):
    """What a customer wants."""

    product: str
    pieces: int = 1


def check_key(key: Annotated[str, Depends(APIKeyHeader(name="X-Bakery-Key"))]) -> None:
    """Refuse requests without the key."""
    if key != "crust-and-crumb":
        raise HTTPException(403, "no such key")


@bakery.get("/shelf/{kind}", dependencies=[Depends(check_key)])
def list_shelf(kind: str) -> list[str]:
    """List what is on the shelf: breads or cakes."""
    shelf = {"bread": ["rye", "spelt"], "cake": ["plum"]}
    if kind not in shelf:
        raise HTTPException(404, f"there is no shelf for {kind}")
    return shelf[kind]


@bakery.post("/customers/{customer}/orders", dependencies=[Depends(check_key)])
def place_order(customer: str, order: Order) -> dict[str, Any]:
    """Order bread or cake for a customer."""
    return {"customer": customer, **order.model_dump()}


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Serve an app on loopback, and yield its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    asyncio.run(main())
