"""The requests that the documents send over HTTP are answered."""

import json
import re
import shlex

import pytest
from starlette.testclient import TestClient

from tests.support.documents import commands


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
