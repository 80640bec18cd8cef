"""Headers, URLs and environments that the process's environment fills in: sent where they belong, and told nowhere."""

import json
import sys
from pathlib import Path

import pytest

from pipeline.build import build
from pipeline.ledger import Ledger
from pipeline.settings import load
from tests.pipeline.sources.reading import api, read_one, stop_one
from tests.pipeline.sources.web import Web
from tests.support.quick import QUICK

API = json.dumps(api({"/a": {"get": {"operationId": "found"}}}))
KEY = "sk-secret/+&="
HEADERS = {"Authorization": "Bearer ${KEY}", "X-Key": "${KEY}", "X-Plain": "plain-secret"}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", f"{KEY}\n")  # as a file of secrets ends


def test_headers_are_sent_with_the_variables_values_and_win_over_the_user_of_the_url_and_of_netrc(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ada password other\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for url in (web.page(API), web.page(API).replace("//", "//bob:word@")):
        assert len(read_one(url=url, format="openapi", headers=HEADERS).tools) == 1
        sent = web.asked[-1][1]
        assert (sent["authorization"], sent["x-key"], sent["x-plain"]) == (f"Bearer {KEY}", KEY, "plain-secret")


def test_a_url_is_filled_in_and_told_as_it_is_written(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.page(API, path="/v1/api")
    monkeypatch.setenv("BASE", f"{web.root}/v1")
    reading = read_one(url="${BASE}/api?key=${KEY}", format="openapi")
    assert web.asked[-1][0] == "/v1/api?key=sk-secret%2F%2B%26%3D"
    assert [tool.origin.file for tool in reading.tools] == ["${BASE}/api"]
    monkeypatch.setenv("BASE", "file:///etc")
    assert str(stop_one(url="${BASE}/api", format="openapi")) == (
        "the url '${BASE}/api' is not an address of http or https once its variables are put in"
    )


def test_every_variable_that_is_missing_is_named_with_its_setting_and_no_value_is(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY", "  ")
    url = web.page(API)
    headers = {"Authorization": "Bearer ${KEY}${NONE}", "X-Empty": "${EMPTY}"}
    assert str(stop_one(url=url, format="openapi", headers=headers)) == (
        f"the header Authorization of '{url}' needs the environment variable NONE, which is not set or empty; "
        f"the header X-Empty of '{url}' needs the environment variable EMPTY, which is not set or empty"
    )


@pytest.mark.parametrize("value", ["café-secret", "a\x07secret"])
def test_a_value_that_no_header_can_hold_is_told_by_its_header(
    web: Web, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("ODD", value)
    told = str(stop_one(url=(url := web.page(API)), format="openapi", headers={"X-Odd": "${ODD}"}))
    assert told == f"the header X-Odd of '{url}' holds a character that cannot be sent"


def test_a_command_is_given_its_environment_and_no_more_and_what_it_says_of_that_is_left_out(tmp_path: Path) -> None:
    code = "import os, json; print(json.dumps({'name': os.environ['OWN'], 'description': str('KEY' in os.environ)}))"
    env = {"OWN": "x-${KEY}-$${KEY}"}
    (tool,) = read_one(tmp_path, command=(sys.executable, "-c", code), format="function", env=env).tools
    assert (tool.name, tool.description) == (f"x-{KEY}-${{KEY}}", "False")
    code = "import os, sys; sys.exit('no ' + os.environ['TOKEN'] + ' for ' + os.environ['TOKEN'][7:])"
    told = stop_one(tmp_path, command=(sys.executable, "-c", code), format="openapi", env={"TOKEN": "Bearer ${KEY}"})
    assert str(told).endswith("ended with exit code 1: no … for …")


def test_no_secret_reaches_the_snapshot_the_report_or_the_ledger(web: Web, tmp_path: Path) -> None:
    (tmp_path / "office").mkdir()
    text = (
        f'[[source]]\nurl = "{web.page(API)}?key=${{KEY}}"\nformat = "openapi"\nheaders = {{X-Key = "${{KEY}}"}}\n'
        f'[[source]]\nurl = "{web.page("", status=401)}?key=${{KEY}}"\nformat = "openapi"\n'
        "[sources]\nskip_unreadable = true\n"
    )
    (tmp_path / "office" / "catalog.toml").write_text(text, encoding="utf-8")
    report = build(load(tmp_path / "office", QUICK, {}), workspace=tmp_path / "ws")
    assert "sk-secret" not in json.dumps(report.to_json()) and "answered 401" in json.dumps(report.to_json())
    with Ledger.open(tmp_path / "ws") as ledger:
        assert "sk-secret" not in str(ledger.history.runs("office").to_pylist())
    assert not any(b"sk-secret" in file.read_bytes() for file in (tmp_path / "ws").rglob("*") if file.is_file())
