"""The API's page says what the OpenAPI document says."""

import json
import re
import shlex
from typing import Any

import pytest
from starlette.testclient import TestClient

from quartermaster.serving.page.api_docs import ApiDocs, api_docs
from tests.quartermaster.serving.conftest import TOKEN, Ask, bearer

EXAMPLES = {"tool_id": "stripe/it's $(a) tool", "request": "it's `here`", "requests": ["one"]}


@pytest.fixture(scope="module")
def document(client: TestClient) -> dict[str, Any]:
    return dict(client.get("/openapi.json").json())


@pytest.fixture(scope="module")
def docs(document: dict[str, Any]) -> ApiDocs:
    return api_docs(document, "http://localhost", EXAMPLES)


def test_every_path_schema_and_failure_of_the_document_is_on_the_page(
    client: TestClient, document: dict[str, Any]
) -> None:
    page = client.get("/docs").text
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert f"{method.upper()} {path}</code>" in page
            for parameter in operation.get("parameters", ()):
                assert f"<code>{parameter['name']}</code>" in page
    for name in document["components"]["schemas"]:
        assert f'id="schema-{name}"' in page
    assert {*re.findall('href="#([^"]+)"', page)} <= {*re.findall('id="([^"]+)"', page)}
    assert "Token." not in page


def test_the_examples_are_commands_that_the_server_answers(client: TestClient) -> None:
    described = api_docs(
        client.get("/openapi.json").json(),
        "http://localhost",
        {"tool_id": "stripe/create_refund", "request": "undo it's payment", "requests": ["one", "two"]},
    )
    for operation in (one for of_tag in described.operations.values() for one in of_tag):
        words = [word for word in shlex.split(operation.curl.replace("\\\n", " ")) if word != "-s"]
        body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
        response = client.request(operation.method, words[1], json=body)
        assert response.status_code == 200, operation.curl


def test_no_example_runs_what_a_stranger_wrote(docs: ApiDocs) -> None:
    curls = [one.curl for of_tag in docs.operations.values() for one in of_tag]
    words = [shlex.split(curl.replace("\\\n", " ")) for curl in curls]
    assert ["curl", "-s", "http://localhost/v1/tools/stripe/it%27s%20%24%28a%29%20tool"] in words
    assert json.dumps({"request": "it's `here`"}) in next(line for line in words if line[2].endswith("/route"))


def test_a_field_has_its_type_its_default_and_its_limits(docs: ApiDocs) -> None:
    request = next(schema for schema in docs.schemas if schema.name == "RouteRequest")
    fields = {field.name: field for field in request.fields}
    assert fields["request"].required and not fields["k"].required
    assert (fields["k"].default, fields["k"].limits) == ("10", ("at least 1", "at most 128"))
    assert fields["recipe"].type == (("RecipeName", "RecipeName"), (" or ", None), ("null", None))
    assert "".join(text for text, _ in fields["request"].type) == "string or array of string or Message"


def test_a_server_with_a_token_says_where_it_is_needed(client_of: Ask) -> None:
    page = client_of(token=TOKEN).get("/docs", headers=bearer(TOKEN)).text
    assert page.count("<em>Token.</em>") == 6
    assert "Authorization: Bearer $QUARTERMASTER_TOKEN" in page and TOKEN not in page
