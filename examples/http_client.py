"""Ask `quartermaster serve http` for the tools of a request, from any program that speaks HTTP.

    pip install httpx                                       (the client needs no Quartermaster)
    quartermaster serve http                                (elsewhere, where a catalog was built)
    python http_client.py "give the customer half of the money back"

The server's address is in QUARTERMASTER_URL, and its token, where it asks for one, in QUARTERMASTER_TOKEN.
"""

import os
import sys
import time
from typing import Any

import httpx

URL = os.environ.get("QUARTERMASTER_URL", "http://localhost:8080")
TOKEN = os.environ.get("QUARTERMASTER_TOKEN", "")
PATIENCE = 3  # how often to ask again where the server is busy: 429 or 503


class Refused(Exception):
    """The server answered with an error: what it says is wrong, and in which field."""


def connect() -> httpx.Client:
    """Return a client that keeps its connection. Use one for the whole program."""
    headers = {"Authorization": f"Bearer {TOKEN}"} if TOKEN else {}
    return httpx.Client(base_url=URL, headers=headers, timeout=10)


def ask(client: httpx.Client, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the server's answer. Wait and ask again where it is busy. Raises Refused."""
    for attempt in range(PATIENCE + 1):
        response = client.request("GET" if body is None else "POST", path, json=body)
        if response.status_code not in (429, 503) or attempt == PATIENCE:
            break
        time.sleep(float(response.headers.get("Retry-After", 1)))
    if response.headers.get("Content-Type") != "application/json":  # a proxy's own page
        raise Refused(f"{response.status_code} {response.reason_phrase}")
    answer: dict[str, Any] = response.json()
    if response.is_success:
        return answer
    error = answer["error"]
    raise Refused(f"{response.status_code} {error.get('field') or error['type']}: {error['message']}")


def main(request: str = "give the customer half of the money back") -> None:
    """Route a request, and show the tools as a provider takes them and the way back to their ids."""
    with connect() as client:
        try:
            snapshot = ask(client, "/v1/snapshot")
        except httpx.ConnectError:
            raise SystemExit(f"no server at {URL}: start one with `quartermaster serve http`") from None
        except Refused as error:
            raise SystemExit(f"{URL} refuses: {error}") from None
        print(f"{snapshot['tools']} tools of {snapshot['catalog']}, snapshot {snapshot['snapshot']}")

        answer = ask(client, "/v1/route", {"request": request, "k": 3, "form": "openai", "token_budget": 1_000})
        print(f"{request}: {answer['tokens']} tokens{', most likely no tool fits' if answer['none_fits'] else ''}")
        ids = answer["rendered"]["names"]  # the model calls a tool by its name, you call it by its id
        for tool in answer["rendered"]["tools"]:  # the `tools` of a chat completion
            function = tool["function"]
            print(f"  {ids[function['name']]}({', '.join(function['parameters'].get('properties', {}))})")

        # Filters come with the request. An answer to a wrong field names it.
        selection = {"annotations": {"readOnlyHint": True}, "block": ["*delete*"]}
        answer = ask(client, "/v1/route", {"request": request, "k": 3, "selection": selection})
        print("read-only tools alone:", ", ".join(tool["tool_id"] for tool in answer["tools"]) or "none")
        try:
            ask(client, "/v1/route", {"request": request, "k": 0})
        except Refused as error:
            print("k = 0 is refused:", error)


if __name__ == "__main__":
    main(*sys.argv[1:2])
