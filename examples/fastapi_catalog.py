"""Make a catalog of your FastAPI app's own operations, route a request, and call the operation back through the app.

    pip install '.[build]' fastapi httpx        (in a checkout of Quartermaster)
    python fastapi_catalog.py
    python fastapi_catalog.py "how much was sold yesterday" '{"day": "2026-01-02"}'

The second argument stands for the model: the arguments that it would send to the first tool, as JSON. Your app in place
of this one: `from my_service import app`. It needs no running server: the document is `app.openapi()`.
"""

import json
import os
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import BaseModel, Field

from pipeline.build import build
from pipeline.settings import load
from router import Router, ToolRecord

WORKSPACE = Path(os.environ.get("QUARTERMASTER_WORKSPACE", ".quartermaster"))

# A tool is named as its function; FastAPI's own ids append path and method.
app = FastAPI(title="Bakery", generate_unique_id_function=lambda route: route.name)
orders: list[dict[str, Any]] = []


class Order(BaseModel):
    """What a customer wants."""

    product: str = Field(description="Such as rye bread.")
    pieces: int = Field(1, ge=1)


@app.post("/customers/{customer}/orders", tags=["orders"])
def place_order(customer: str, order: Order, gift: bool = False) -> dict[str, Any]:
    """Order bread or cake for a customer."""
    orders.append({"customer": customer, "gift": gift, **order.model_dump()})
    return {"number": len(orders), **orders[-1]}


@app.get("/sales", tags=["reports"])
def daily_sales(day: date) -> dict[str, Any]:
    """Say what was sold on a day."""
    return {"day": day, "pieces": sum(order["pieces"] for order in orders)}


def built() -> Router:
    """Return a router over a catalog built from the app's own OpenAPI document."""
    document = WORKSPACE / "bakery.openapi.json"
    document.parent.mkdir(exist_ok=True)
    document.write_text(json.dumps(app.openapi()), encoding="utf-8")
    # By words alone: nothing to download. Without the override, the build takes the encoder that it finds.
    report = build(load(document, {"vectors": {"encoder": "none"}}), workspace=WORKSPACE)
    print(f"{report.counts['tools']} operations in {report.snapshot.name}")
    return Router.open(report.snapshot)


def call(client: TestClient, record: ToolRecord, arguments: Mapping[str, Any]) -> Any:
    """Call a tool's operation with a model's arguments, and return its answer.

    The document says which arguments are in the path and the query; the others are the body. FastAPI answers a wrong
    one with a reason that a model understands.
    """
    method, path = record.annotations["method"], record.annotations["path"]
    operation = app.openapi()["paths"][path][method.lower()]
    place = {parameter["name"]: parameter["in"] for parameter in operation.get("parameters", ())}
    sent: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
    for name, value in arguments.items():
        sent[place.get(name, "body")][name] = value
    url = path.format(**{name: quote(str(value), safe="") for name, value in sent["path"].items()})
    return client.request(method, url, params=sent["query"], json=sent["body"] or None).json()


def main(
    request: str = "two loaves of rye bread for Ada, please",
    arguments: str = '{"customer": "Ada", "product": "rye bread", "pieces": 2, "gift": true}',
) -> None:
    """Build, route, and call the first tool."""
    with built() as router, TestClient(app) as client:
        routed = router.route(request, k=2)
        if not routed.tools:  # without vectors: no operation has a word of the request
            raise SystemExit(f"no operation for: {request}")
        record = routed[0].record
        print(f"{request}: {record.tool_id}, {record.annotations['method']} {record.annotations['path']}")
        print("  takes", ", ".join(f"{parameter.path}: {parameter.type}" for parameter in record.parameters))
        print(f"called with {arguments}\n  {call(client, record, json.loads(arguments))}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
