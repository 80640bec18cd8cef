"""Settings that are refused, each by the name of its field."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.errors import SettingsInvalid
from pipeline.settings import SourceSettings, load

SOURCE = '[[source]]\npath = "tools.jsonl"\n'


def _refusal(folder: Path, text: str = "", source: str = SOURCE) -> str:
    (folder / "catalog.toml").write_text(f"{text}\n{source}", encoding="utf-8")
    with pytest.raises(SettingsInvalid) as refused:
        load(folder, None, {})
    return str(refused.value).removeprefix(f"settings of {folder / 'catalog.toml'}: ")


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("enrichment", "generator = 'gpt'"),
        ("enrichment", "fallback = 'openai'"),
        ("enrichment", "concurrency = 0"),
        ("enrichment", "concurrency = 513"),
        ("enrichment", "timeout_s = 0"),
        ("enrichment", "max_retries = -1"),
        ("enrichment", "model = 7"),
        ("enrichment.prices.m", "input = -1\ncached = 0\noutput = 0"),
        ("vectors", "batch_size = 0"),
        ("retrieval", "recipe = 'best'"),
        ("retrieval", "recipe = {weights = {smell = 1}}"),
        ("publish", "keep = 0"),
        ("publish", "max_rejected_share = 1.1"),
        ("publish", "max_failed_share = nan"),
    ],
)
def test_a_wrong_value_is_refused_by_its_field(tmp_path: Path, section: str, value: str) -> None:
    assert _refusal(tmp_path, f"[{section}]\n{value}").startswith(f"{section}.{value.partition(' ')[0]}")


def test_a_build_that_was_to_train_an_encoder_is_told_what_does(tmp_path: Path) -> None:
    told = _refusal(tmp_path, "[tuning]\nencoder = 'finetune'")
    assert told.startswith("tuning: builds no longer train an encoder") and "quartermaster train" in told


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("source = []", "source: write one [[source]]"),
        ("[[source]]", "source 1: a source has exactly one of path, command and url"),
        (f"{SOURCE}url = 'http://x'", "source 1: a source has exactly one of path, command and url"),
        (f"{SOURCE}[[source]]\nurl = 'file:///a'", "source 2: url: it is no address of http or https"),
        ("[[source]]\nurl = 'http://'\nformat = 'openapi'", "source 1: url: it is no address of http or"),
        ("[[source]]\nurl = 'http://[x'", "source 1: url: it is no address of http or https"),
        ("[[source]]\nurl = 'http://x:port'", "source 1: url: it is no address of http or https"),
        ("[[source]]\ncommand = []", "source 1: command: it is empty"),
        ("[[source]]\ncommand = 'npx x'", "source 1: command must be a list"),
        (f"{SOURCE}format = 'csv'", "source 1: format is \"csv\": it must be 'function', 'openapi', 'mcp'"),
        (f"{SOURCE}timeout_s = 0", "source 1: timeout_s is 0: it must be more than 0"),
        (f"{SOURCE}color = 'red'", "source 1: color: unknown setting, choose from format, path,"),
    ],
)
def test_a_wrong_source_is_refused_with_its_number(tmp_path: Path, source: str, reason: str) -> None:
    assert _refusal(tmp_path, "", source).startswith(reason)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"path": "a.json", "headers": {"X": "y"}}, "headers are for a url"),
        ({"path": "a.json", "env": {"X": "y"}}, "env is for a command"),
        ({"command": ["x"], "oauth": {}}, "oauth are for a url"),
        ({"url": "https://x/sse", "sse": True}, "the deprecated HTTP+SSE transport is not read any more"),
        ({"url": "http://x", "format": "openapi", "oauth": {}}, "oauth is for an MCP server"),
        ({"url": "http://x", "oauth": {}, "headers": {"authorization": "x"}}, "leave one of the two out"),
        ({"url": "http://x", "headers": {"Host": "y"}}, "this header is set by the program itself"),
        ({"url": "http://x", "headers": {"X Y": "y"}}, "it cannot name a header"),
        ({"url": "http://x", "headers": {"X": "y", "x": "y"}}, "stands there twice"),
        ({"url": "http://x", "headers": {"X": "a\r\nY: b"}}, "it holds a control character"),
        ({"url": "http://x", "headers": {"X": "${}"}}, "must be followed by the name of a variable"),
        ({"url": "http://x/${A-B}"}, "must be followed by the name of a variable"),
        ({"url": "ftp://${HOST}/x"}, "it is no address of http or https"),
        ({"command": ["x"], "env": {"A=B": "y"}}, "it cannot name a variable"),
        ({"url": "http://x", "oauth": {"client_secret": "x"}}, "client_secret needs a client_id"),
        ({"url": "http://x", "oauth": {"grant": "client_credentials"}}, "needs a client_id and a client_secret"),
        ({"url": "http://x", "oauth": {"issuer": "http://login.example"}}, "it must be an https address"),
        ({"path": "a.json", "format": "openapi", "fields": {"name": "x"}}, "an OpenAPI document says itself"),
        ({"url": "https://x/mcp", "fields": {"name": "x"}}, "a live MCP server says itself where everything is"),
    ],
)
def test_what_a_source_cannot_be_asked_with_is_refused(source: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as refused:
        SourceSettings.model_validate(source)
    assert told in str(refused.value)


def test_a_refused_url_is_not_quoted_for_it_may_hold_a_password(tmp_path: Path) -> None:
    for url in ("ftp://ada:sk-secret@host", "http://ada:sk-secret@ho℀st", "http://ada:sk-secret@host:x"):
        assert "sk-secret" not in _refusal(tmp_path, "", f"[[source]]\nurl = '{url}'")


@pytest.mark.parametrize(
    "text",
    ["name = ", "keep = " + "9" * 5_000, "keep = " + "[" * 100_000, "a." * 20_000 + "a = 1", "a." * 400 + "a = 1"],
    ids=["nothing", "number", "lists", "dots", "depth"],
)
def test_a_toml_that_cannot_be_read_is_refused_with_its_path_however_it_fails(tmp_path: Path, text: str) -> None:
    told = _refusal(tmp_path, text)
    assert told.startswith(f"{tmp_path / 'catalog.toml'} cannot be read: ")
    assert text != "name = " or "line 1" in told


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="nothing does not exist: name a catalog folder, or a file of tool def"):
        load(tmp_path / "nothing", None, {})


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a b", "a\\\\b", "büro", "../x", "a\\n"])
def test_a_name_that_cannot_be_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    assert " cannot name a folder here: use letters" in _refusal(tmp_path, f'name = "{name}"')


@pytest.mark.parametrize("name", ["office", "Office_2", "a.b-c", "_x", "-x", "7"])
def test_a_name_that_can_be_a_folder_is_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / "catalog.toml").write_text(f"name = '{name}'\n{SOURCE}", encoding="utf-8")
    assert load(tmp_path, None, {}).name == name
