"""Headers, URLs and environments that the process's environment fills in: sent where they belong, and told nowhere."""

import json
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.build import build
from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from pipeline.settings import CatalogSettings, SourceSettings, load
from pipeline.settings.variables import expand, expand_url
from pipeline.sources import Reading, read
from pipeline.sources.transport import mcp_client
from tests.pipeline.sources.reading import api, tools
from tests.pipeline.sources.web import Web, serving

API = json.dumps(api({"/a": {"get": {"operationId": "found"}}}))
KEY = "sk-secret/+&="
HEADERS = {"Authorization": "Bearer ${KEY}", "X-Key": "${KEY}", "X-Plain": "plain-secret"}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", f"{KEY}\n")  # as a file of secrets ends


@pytest.fixture
def elsewhere() -> Iterator[Web]:
    """Another server, on another port."""
    with serving() as web:
        yield web


def _read(url: str, **more: Any) -> Reading:
    source = {"url": url, "format": "openapi", "timeout_s": 30, **more}
    return read(CatalogSettings(name="office", folder=Path(), source=(source,)))


def _stop(url: str, **more: Any) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        _read(url, **more)
    return stopped.value


def _sent(web: Web) -> dict[str, str]:
    return web.asked[-1][1]


def test_headers_are_sent_with_the_variables_values(web: Web) -> None:
    assert len(_read(web.page(API), headers=HEADERS).tools) == 1
    sent = _sent(web)
    assert (sent["authorization"], sent["x-key"], sent["x-plain"]) == (f"Bearer {KEY}", KEY, "plain-secret")


def test_a_header_wins_over_the_user_of_the_url_and_of_netrc(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ada password other\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for url in (web.page(API), web.page(API).replace("//", "//bob:word@")):
        _read(url, headers={"authorization": "Bearer ${KEY}"})
        assert _sent(web)["authorization"] == f"Bearer {KEY}"


LOOPBACK: Any = {"redirect_hosts": ["127.0.0.1"]}  # the two servers are of one host, on two ports


def test_redirects_within_the_server_keep_headers_and_user_and_others_lose_all_for_good(
    web: Web, elsewhere: Web
) -> None:
    target = web.page(API, path="/target")
    within = web.page("", path="/within", status=307, headers={"location": "/target"})
    assert len(_read(within, headers=HEADERS).tools) == 1
    assert _sent(web)["x-key"] == KEY
    _read(within.replace("//", "//ada:word@"))
    assert _sent(web)["authorization"].startswith("Basic ")

    back = elsewhere.page("", status=302, headers={"location": target})
    away = web.page("", path="/away", status=302, headers={"location": back})
    assert len(_read(away.replace("//", "//ada:word@"), headers={"X-Key": "${KEY}"}, **LOOPBACK).tools) == 1
    for asked in (_sent(elsewhere), _sent(web)):
        assert "x-key" not in asked and "authorization" not in asked
    _read(away, headers=HEADERS, **LOOPBACK)
    assert not {"x-key", "authorization", "x-plain"} & _sent(elsewhere).keys()


def test_an_mcp_server_that_redirects_elsewhere_takes_no_header_there(web: Web, elsewhere: Web) -> None:
    away = web.page("", status=307, headers={"location": elsewhere.page("")})
    with pytest.raises(RunAborted):
        read(CatalogSettings(name="x", folder=Path(), source=({"url": away, "headers": HEADERS, "timeout_s": 60},)))
    assert _sent(web)["x-key"] == KEY and elsewhere.asked == []


def test_the_body_of_a_redirect_is_not_read_to_its_end(web: Web) -> None:
    endless = web.page(b"x" * 30, path="/slow", status=302, pause=1.0, headers={"location": web.page(API)})
    assert len(_read(endless, timeout_s=10).tools) == 1


def test_a_url_is_filled_in_and_told_as_it_is_written(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    web.page(API, path="/v1/api")
    monkeypatch.setenv("BASE", f"{web.root}/v1")
    reading = _read("${BASE}/api?key=${KEY}")
    assert web.asked[-1][0] == "/v1/api?key=sk-secret%2F%2B%26%3D"
    assert [tool.origin.file for tool in reading.tools] == ["${BASE}/api"]
    monkeypatch.setenv("BASE", "file:///etc")
    assert str(_stop("${BASE}/api")) == (
        "the url '${BASE}/api' is no address of http or https once its variables are put in"
    )


def test_every_variable_that_is_missing_is_named_with_its_setting_and_no_value_is(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY", "  ")
    headers = {"Authorization": "Bearer ${KEY}${NONE}", "X-Empty": "${EMPTY}"}
    url = web.page(API)
    told = str(_stop(url, headers=headers))
    assert told == (
        f"the header Authorization of '{url}' needs the environment variable NONE, which is not set or empty; "
        f"the header X-Empty of '{url}' needs the environment variable EMPTY, which is not set or empty"
    )


@pytest.mark.parametrize("value", ["café-secret", "a\x07secret"])
def test_a_value_that_no_header_can_hold_is_told_by_its_header(
    web: Web, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("ODD", value)
    url = web.page(API)
    told = str(_stop(url, headers={"X-Odd": "${ODD}"}))
    assert told == f"the header X-Odd of '{url}' holds a character that cannot be sent"


def test_settings_load_though_a_variable_is_missing_and_show_no_value(tmp_path: Path) -> None:
    text = '[[source]]\nurl = "https://x/mcp"\nheaders = {Authorization = "Bearer of-the-file", X = "${NONE}"}\n'
    (tmp_path / "catalog.toml").write_text(text, encoding="utf-8")
    settings = load(tmp_path, None, {})
    for shown in (repr(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert "of-the-file" not in shown


@pytest.mark.parametrize("status", [401, 404, 503])
def test_no_message_holds_what_was_sent(web: Web, status: int) -> None:
    url = web.page("", status=status, headers={}) + "?key=${KEY}"
    for stopped in (_stop(url, headers=HEADERS), _stop("http://127.0.0.1:1/?key=${KEY}", headers=HEADERS)):
        told = "".join(line for line in traceback.format_exception(stopped) if "test_access" not in line)
        assert "sk-secret" not in told and "plain-secret" not in told


def test_what_a_command_says_of_its_environment_is_left_out(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit('no ' + os.environ['TOKEN'] + ' for ' + os.environ['TOKEN'][7:])"
    source = {"command": (sys.executable, "-c", code), "format": "openapi", "env": {"TOKEN": "Bearer ${KEY}"}}
    with pytest.raises(RunAborted) as stopped:
        read(CatalogSettings(name="office", folder=tmp_path, source=(source,)))
    assert str(stopped.value).endswith("ended with exit code 1: no … for …")


def test_a_command_is_given_its_environment_and_no_more(tmp_path: Path) -> None:
    code = "import os, json; print(json.dumps({'name': os.environ['OWN'], 'description': str('KEY' in os.environ)}))"
    source = {"command": (sys.executable, "-c", code), "format": "function", "env": {"OWN": "x-${KEY}-$${KEY}"}}
    (tool,) = read(CatalogSettings(name="office", folder=tmp_path, source=(source,))).tools
    assert (tool.name, tool.description) == (f"x-{KEY}-${{KEY}}", "False")


def test_an_mcp_server_over_stdio_is_given_its_environment_and_no_more(tmp_path: Path) -> None:
    server = Path(__file__).parents[1] / "mcp_server.py"
    source = SourceSettings(
        command=(sys.executable, str(server), "stdio", "environment"), env={"OWN": "x-${KEY}"}, timeout_s=60
    )
    (tool,) = tools(mcp_client.read_live(source, tmp_path))
    seen = json.loads(tool.description)
    assert seen["OWN"] == f"x-{KEY}" and "KEY" not in seen


def test_no_secret_reaches_the_snapshot_the_report_or_the_ledger(web: Web, tmp_path: Path) -> None:
    (tmp_path / "office").mkdir()
    text = (
        f'[[source]]\nurl = "{web.page(API)}?key=${{KEY}}"\nformat = "openapi"\nheaders = {{X-Key = "${{KEY}}"}}\n'
        f'[[source]]\nurl = "{web.page("", status=401)}?key=${{KEY}}"\nformat = "openapi"\n'
        "[sources]\nskip_unreadable = true\n[vectors]\nencoder = 'none'\n"
    )
    (tmp_path / "office" / "catalog.toml").write_text(text, encoding="utf-8")
    report = build(load(tmp_path / "office", None, {}), workspace=tmp_path / "ws")
    assert "sk-secret" not in json.dumps(report.to_json()) and "answered 401" in json.dumps(report.to_json())
    with Ledger.open(tmp_path / "ws") as ledger:
        assert "sk-secret" not in str(ledger.runs("office").to_pylist())
    assert not any(b"sk-secret" in file.read_bytes() for file in (tmp_path / "ws").rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"path": "a.json", "headers": {"X": "y"}}, "headers are for a url"),
        ({"path": "a.json", "env": {"X": "y"}}, "env is for a command"),
        ({"command": ["x"], "oauth": {}}, "oauth are for a url"),
        ({"url": "http://x", "format": "openapi", "oauth": {}}, "oauth is for an MCP server"),
        ({"url": "http://x", "oauth": {}, "headers": {"authorization": "x"}}, "leave one of the two out"),
        ({"url": "http://x", "headers": {"Host": "y"}}, "the header Host is set by the program itself"),
        ({"url": "http://x", "headers": {"X Y": "y"}}, "'X Y' cannot name a header"),
        ({"url": "http://x", "headers": {"X": "y", "x": "y"}}, "stands there twice"),
        ({"url": "http://x", "headers": {"X": "a\r\nY: b"}}, "the header X holds a control character"),
        ({"url": "http://x", "headers": {"X": "${}"}}, "must be followed by the name of a variable"),
        ({"url": "http://x/${A-B}"}, "must be followed by the name of a variable"),
        ({"url": "ftp://${HOST}/x"}, "url is no address of http or https"),
        ({"command": ["x"], "env": {"A=B": "y"}}, "'A=B' cannot name a variable"),
        ({"url": "http://x", "oauth": {"client_secret": "x"}}, "client_secret needs a client_id"),
        ({"url": "http://x", "oauth": {"grant": "client_credentials"}}, "needs a client_id and a client_secret"),
        ({"url": "http://x", "oauth": {"issuer": "http://login.example"}}, "it must be an https address"),
    ],
)
def test_what_cannot_be_sent_is_refused_when_settings_are_loaded(source: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        SourceSettings.model_validate(source)
    assert told in str(refused.value)


_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
_VALUES = st.text(min_size=1).map(str.strip).filter(bool)


@given(st.lists(st.one_of(st.text(alphabet="ab $}-{%"), _NAMES.map(lambda name: (name,)))), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_text_is_put_together_of_its_parts_and_the_values(parts: list[Any], data: st.DataObject) -> None:
    names = {part[0] for part in parts if isinstance(part, tuple)}
    environment = {name: data.draw(_VALUES) for name in names}
    written = "".join(f"${{{p[0]}}}" if isinstance(p, tuple) else p.replace("${", "$ {").rstrip("$") for p in parts)
    expected = "".join(environment[p[0]] if isinstance(p, tuple) else p.replace("${", "$ {").rstrip("$") for p in parts)
    assert expand(written, "it", environment)[0] == expected


@given(_VALUES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_value_changes_the_host_where_it_stands_behind_it_or_as_password(value: str) -> None:
    value = value.encode("utf-8", "ignore").decode().strip() or "x"
    for written in ("https://ada:${V}@host:1/${V}?k=${V}#${V}", "https://host/${V}"):
        filled, values = expand_url(written, "it", {"V": value})
        assert filled.partition("://")[2].rpartition("@")[2].startswith("host") and value in values
