"""Settings that are refused, each by the name of its field."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsInvalid
from pipeline.settings import load

SOURCE = '[[source]]\npath = "tools.jsonl"\n'


def _catalog(folder: Path, text: str = "", source: str = SOURCE) -> Path:
    """A folder with a catalog.toml of this text and one source."""
    (folder / "catalog.toml").write_text(f"{text}\n{source}", encoding="utf-8")
    return folder


def _refusal(folder: Path, overrides: dict[str, dict[str, Any]] | None = None, **environment: str) -> str:
    with pytest.raises(SettingsInvalid) as refused:
        load(folder, overrides, environment)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[enrichment]\ngenerator = 'gpt'", "enrichment.generator"),
        ("[enrichment]\nfallback = 'openai'", "enrichment.fallback"),
        ("[enrichment]\nconcurrency = 0", "enrichment.concurrency"),
        ("[enrichment]\nconcurrency = 513", "enrichment.concurrency"),
        ("[enrichment]\ntimeout_s = 0", "enrichment.timeout_s"),
        ("[enrichment]\nmax_retries = -1", "enrichment.max_retries"),
        ("[enrichment]\nmodel = 7", "enrichment.model"),
        ("[enrichment]\nparameters = 'x'", "enrichment.parameters"),
        ("[enrichment.prices.m]\ninput = 1", "enrichment.prices.m.cached"),
        ("[enrichment.prices.m]\ninput = -1\ncached = 0\noutput = 0", "enrichment.prices.m.input"),
        ("[vectors]\nbatch_size = 0", "vectors.batch_size"),
        ("[vectors]\nprecision = 'fp16'", "vectors.precision"),
        ("[retrieval]\nrecipe = 'best'", "retrieval.recipe"),
        ("[retrieval.recipe]\nweights = {smell = 1}", "retrieval.recipe"),
        ("[publish]\nkeep = 0", "publish.keep"),
        ("[publish]\nmax_rejected_share = 1.1", "publish.max_rejected_share"),
        ("[publish]\nmax_failed_share = nan", "publish.max_failed_share"),
        ("enrichment = 'lexicon'", "enrichment"),
        ("name = 7", "name"),
        ("color = 'red'", 'unknown setting "color"'),
        ("[enrichment]\ncolor = 'red'", 'enrichment: unknown setting "color"'),
        ("[vectors]\ncolor = 'red'", 'vectors: unknown setting "color"'),
        ("[publish]\ncolor = 'red'", 'publish: unknown setting "color"'),
        ("[colors]\nred = 1", 'unknown setting "colors"'),
    ],
)
def test_a_wrong_or_unknown_value_names_its_file_and_field(tmp_path: Path, text: str, field: str) -> None:
    folder = _catalog(tmp_path, text)
    refusal = _refusal(folder)
    assert refusal.startswith(f"settings of {folder / 'catalog.toml'}: ") and field in refusal


def test_every_wrong_field_is_named_at_once(tmp_path: Path) -> None:
    message = _refusal(
        _catalog(tmp_path, "[publish]\nkeep = 0\n[vectors]\nbatch_size = 0\n"), {"enrichment": {"color": "red"}}
    )
    assert all(
        field in message
        for field in ("  publish.keep is 0", "  vectors.batch_size is 0", '  enrichment: unknown setting "color"')
    )


@pytest.mark.parametrize(
    ("overrides", "environment"),
    [({"enrichment": {"model": "x"}}, {}), ({}, {"OPENAI_API_KEY": "sk-x"})],
)
def test_a_section_that_is_no_table_is_refused_though_it_is_added_to(
    tmp_path: Path, overrides: dict[str, Any], environment: dict[str, str]
) -> None:
    message = _refusal(_catalog(tmp_path, "enrichment = 'lexicon'"), overrides, **environment)
    assert 'enrichment is "lexicon": it must be a table' in message


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "source is missing"),
        ("source = []", "source is missing"),
        ("[[source]]", "source 1: a source has exactly one of path, command and url"),
        (f"{SOURCE}url = 'http://x'", "source 1: a source has exactly one of path, command and url"),
        (f"{SOURCE}[[source]]\nurl = 'file:///a'", "source 2: url is no address of http or https"),
        ("[[source]]\nurl = 'http://'\nformat = 'openapi'", "source 1: url is no address of http or"),
        ("[[source]]\nurl = 'http://[x'", "source 1: url is no address of http or https"),
        ("[[source]]\nurl = 'http://x:port'", "source 1: url is no address of http or https"),
        ("[[source]]\ncommand = []", "source 1: command is empty"),
        ("[[source]]\ncommand = 'npx x'", "source 1: command must be a list"),
        (f"{SOURCE}format = 'csv'", "source 1: format is \"csv\": it must be 'function', 'openapi', 'mcp'"),
        (f"{SOURCE}timeout_s = 0", "source 1: timeout_s is 0: it must be more than 0"),
        (f"{SOURCE}color = 'red'", 'source 1: unknown setting "color", choose from format, path,'),
    ],
)
def test_a_wrong_source_is_refused_with_its_number(tmp_path: Path, source: str, reason: str) -> None:
    assert reason in _refusal(_catalog(tmp_path, "", source))


def test_a_refused_url_is_not_quoted_for_it_may_hold_a_password(tmp_path: Path) -> None:
    for url in ("ftp://ada:sk-secret@host", "http://ada:sk-secret@ho℀st", "http://ada:sk-secret@host:x"):
        assert "sk-secret" not in _refusal(_catalog(tmp_path, "", f"[[source]]\nurl = '{url}'"))


def test_a_toml_that_does_not_parse_is_refused_with_its_path_and_place(tmp_path: Path) -> None:
    folder = _catalog(tmp_path, "name = ")
    message = _refusal(folder)
    assert message.startswith(f"{folder / 'catalog.toml'} cannot be read: ")
    assert "line 1" in message


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nothing"
    assert _refusal(path) == f"{path} does not exist: name a catalog folder, or a file of tool definitions"


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a b", "a\\\\b", "büro", "../x", "a\\n"])
def test_a_name_that_cannot_be_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    assert " cannot name a folder here: use letters" in _refusal(_catalog(tmp_path, f'name = "{name}"'))
