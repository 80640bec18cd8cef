"""The OpenAPI document is what the server answers, good and bad; `schemathesis run` tries far more."""

import json
import re
import shlex
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from tests.quartermaster.serving.conftest import TOKEN, Ask, bearer
from tests.support.documents import commands

REQUEST = "give the customer their money back, then tell the team in slack"
MESSAGES = [{"role": "user", "content": REQUEST}]
ROUTED: list[tuple[Any, int]] = [
    ({"request": REQUEST}, 200),
    ({"request": MESSAGES, "explain": True, "form": "anthropic"}, 200),
    ({"request": REQUEST, "k": 3.0, "token_budget": 60, "detail": "signature", "strict": True}, 200),
    ({"request": REQUEST, "selection": {"block": ["s*"], "always": ["weather/getForecast"]}}, 200),
    ({"request": REQUEST, "form": "openai", "strict": True, "recipe": "lexical"}, 200),
    ({"request": REQUEST, "needs": ["undo a payment"], "explain": True}, 200),
    ({"request": REQUEST, "strict": 0}, 422),
    ({"request": REQUEST, "k": "3"}, 422),
    ({"request": REQUEST, "k": True}, 422),
    ([], 422),
]
ASKED: list[tuple[str, str, Any, int]] = [
    *(("post", "/v1/route", body, status) for body, status in ROUTED),
    ("post", "/v1/route-many", {"requests": [REQUEST, "rain"], "explain": True, "form": "mcp"}, 200),
    ("post", "/v1/route-many", {"requests": [REQUEST], "needs": [["undo a payment"]]}, 200),
    ("post", "/v1/route-many", {"requests": []}, 422),
    ("get", "/v1/tools?limit=2", None, 200),
    ("get", "/v1/tools?limit=501", None, 422),
    ("get", "/v1/tools/{tool_id}", "stripe/create_refund", 200),
    ("get", "/v1/tools/{tool_id}", "nobody", 404),
    *(("get", path, None, 200) for path in ("/v1/snapshot", "/healthz", "/readyz")),
]


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    return dict(client.get("/openapi.json").json())


@pytest.mark.parametrize(("method", "path", "given", "status"), ASKED)
def test_every_answer_is_one_that_the_document_says(
    client: TestClient, document: dict[str, Any], method: str, path: str, given: Any, status: int
) -> None:
    template = path.partition("?")[0]
    if method == "get":
        response = client.get(path.replace("{tool_id}", str(given)))
    else:
        response = client.post(path, json=given)
    assert response.status_code == status, response.text
    said = document["paths"][template][method]["responses"][str(status)]["content"]["application/json"]["schema"]
    Draft202012Validator({**said, "components": document["components"]}).validate(response.json())


def test_every_path_is_tried_and_says_how_it_can_fail(document: dict[str, Any]) -> None:
    assert {path.partition("?")[0] for _, path, *_ in ASKED} == set(document["paths"]) - {"/metrics"}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["description"]
            assert {"200", "421", "500"} <= set(operation["responses"]), path


def test_the_document_names_the_token_where_there_is_one(client_of: Ask, document: dict[str, Any]) -> None:
    guarded = client_of(token=TOKEN).get("/openapi.json", headers=bearer(TOKEN)).json()
    assert guarded["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    first = {path: next(iter(operations.values())) for path, operations in guarded["paths"].items()}
    assert {path for path, operation in first.items() if "security" not in operation} == {"/healthz", "/readyz"}
    assert "securitySchemes" not in document["components"]


@pytest.mark.parametrize("line", [line for line in commands("serve") if line.startswith("curl ")])
def test_a_documented_request_is_answered(client: TestClient, line: str) -> None:
    words = iter(shlex.split(line)[1:])
    path, body = "", None
    for word in words:
        if word in ("-d", "--data"):
            body = json.loads(next(words))
        elif word == "-H":
            assert next(words) == "Content-Type: application/json"
        elif not word.startswith("-"):
            path = re.sub(r"^(http://)?localhost:8080", "", word)
    response = client.get(path) if body is None else client.post(path, json=body)
    assert response.status_code == 200, response.text
