"""Settings that are refused: each problem in plain English, named as the user wrote it, without what may be secret."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.errors import SettingsInvalid
from pipeline.settings import SourceSettings, load
from pipeline.settings.loading import monitoring_of

SOURCE = '[[source]]\npath = "tools.jsonl"\n'


def _refusal(folder: Path, text: str, over: dict[str, dict[str, Any]] | None = None, **environment: str) -> str:
    (folder / "catalog.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsInvalid) as refused:
        load(folder, over, environment)
    return str(refused.value).removeprefix(f"settings of {folder / 'catalog.toml'}: ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        # Settings that nobody knows.
        ('[[source]]\npaht = "a.json"', 'source 1: paht: unknown setting, did you mean "path"?'),
        (f"{SOURCE}color = 'red'", "source 1: color: unknown setting, choose from format, path,"),
        (f"{SOURCE}[publish]\nkepe = 3", 'publish.kepe: unknown setting, did you mean "keep"?'),
        (f"{SOURCE}[enrichmnt]\nmodel = 'x'", 'enrichmnt: unknown setting, did you mean "enrichment"?'),
        (f"model = 'x'\n{SOURCE}", "model: unknown setting, choose from name, source, sources, limits, enrichment"),
        (f"{SOURCE}[enrichment.batch]\npol_s = 1", 'enrichment.batch.pol_s: unknown setting, did you mean "poll_s"?'),
        (f"{SOURCE}[source.oauth]\nclientid = 'x'", 'source 1: oauth.clientid: unknown setting, did you mean "client'),
        (f"folder = 'x'\n{SOURCE}", "folder cannot be set: it is the folder of the catalog itself"),
        # Values.
        (f"{SOURCE}[publish]\nkeep = 0", "publish.keep is 0: it must be at least 1"),
        (f"{SOURCE}[publish]\nkeep = 1.5", "publish.keep is 1.5: it must be a whole number"),
        (f"{SOURCE}[publish]\nmax_rejected_share = 1.1", "publish.max_rejected_share is 1.1: it must be at most 1"),
        (f"{SOURCE}[publish]\nmax_failed_share = nan", "publish.max_failed_share is nan: it must be a finite number"),
        (f"{SOURCE}[publish]\njudged = 'maybe'", 'publish.judged is "maybe": it must be true or false'),
        (f"name = 7\n{SOURCE}", "name is 7: it must be a text"),
        (
            f"{SOURCE}[vectors]\nprecision = 'fp16'",
            "vectors.precision is \"fp16\": it must be 'auto', 'fp32' or 'int8'",
        ),
        (f"{SOURCE}[enrichment]\ntimeout_s = 0", "enrichment.timeout_s is 0: it must be more than 0"),
        (f"{SOURCE}[enrichment.prices.m]\ninput = 1\ncached = 1", "enrichment.prices.m.output is missing"),
        (f"{SOURCE}[retrieval]\nrecipe = 'best'", "retrieval.recipe: there is no recipe 'best': choose from "),
        (f"{SOURCE}[retrieval]\nrecipe = {{weights = {{smell = 1}}}}", "retrieval.recipe: "),
        # Shapes.
        (f"sources = []\n{SOURCE}", "sources is a list: it must be a table of names and values"),
        (f"enrichment = 'x'\n{SOURCE}", 'enrichment is "x": it must be a table of names and values'),
        ('[source]\npath = "x"', "source is a table: it must be a list"),
        # Sources, each with its number.
        ("", "source: write one [[source]] for each file, command or URL"),
        ("[[source]]", "source 1: a source has exactly one of path, python, command and url"),
        (f"{SOURCE}url = 'http://x'", "source 1: a source has exactly one of path, python, command and url"),
        (f"{SOURCE}[[source]]\nurl = 'file:///a'", "source 2: url: it is not an address of http or https"),
        ("[[source]]\nurl = 'http://[x'", "source 1: url: it is not an address of http or https"),
        ("[[source]]\nurl = 'http://x:port'", "source 1: url: it is not an address of http or https"),
        ("[[source]]\ncommand = []", "source 1: command: it is empty"),
        ("[[source]]\ncommand = ['', 'x']", "source 1: command: it is empty: it holds the program"),
        ("[[source]]\ncommand = 'npx x'", "source 1: command must be a list"),
        (f"{SOURCE}format = 'csv'", "source 1: format is \"csv\": it must be 'function', 'openapi', 'mcp'"),
        (f'{SOURCE}headers."a\\nb" = "c"', 'source 1: headers."a\\nb": it cannot name a header'),
        (f"{SOURCE}[source.oauth]\nissuer = 'ftp://x'", "source 1: oauth.issuer: it must be an https address"),
    ],
)
def test_a_problem_is_told_by_field_value_and_what_is_allowed(tmp_path: Path, text: str, told: str) -> None:
    assert _refusal(tmp_path, text).startswith(told)


def test_a_field_is_named_as_it_was_given(tmp_path: Path) -> None:
    told = _refusal(
        tmp_path,
        f"{SOURCE}[tuning]\nadapter = 3",
        {"enrichment": {"generator": "magic"}, "tuning": {"max_stale_share": 2}},
        QUARTERMASTER_PUBLISH__KEEP="0",
        QUARTERMASTER_PUBLISH__KEPE="1",
        QUARTERMASTER_VECTOR__ENCODER="x",
        QUARTERMASTER_ENRICHMENT__PARAMETERS="{x",
        OPENAI_BASE_URL="http://ada:sk-secret@host",
    )
    assert told.startswith("7 problems\n") and "sk-secret" not in told
    for line in (
        "tuning.adapter is 3: it must be true or false",
        "the argument --generator (enrichment.generator) is \"magic\": it must be 'auto', 'openai' or 'none'",
        "tuning.max_stale_share is 2: it must be at most 1",
        'QUARTERMASTER_PUBLISH__KEEP (publish.keep) is "0": it must be at least 1',
        'QUARTERMASTER_PUBLISH__KEPE (publish.kepe): unknown setting, did you mean "keep"?',
        "QUARTERMASTER_VECTOR__ENCODER: there is no section 'vector': did you mean \"vectors\"?",
        "QUARTERMASTER_ENRICHMENT__PARAMETERS is not JSON: ",
    ):
        assert f"\n  {line}" in told


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("enrichment", "api_key = ['sk-secret']"),
        ("enrichment", "parameters = 'sk-secret'"),
        ("notify", "command = 'sk-secret'"),
    ],
)
def test_what_may_be_a_secret_is_not_shown(tmp_path: Path, section: str, value: str) -> None:
    told = _refusal(tmp_path, f"{SOURCE}[{section}]\n{value}")
    assert told.startswith(f"{section}.{value.partition(' ')[0]} must be ") and "sk-secret" not in told


@pytest.mark.parametrize(
    "url", ["ftp://ada:sk-secret@host", "http://ada:sk-secret@ho℀st", "http://ada:sk-secret@host:x"]
)
def test_a_refused_url_is_not_quoted_for_it_may_hold_a_password(tmp_path: Path, url: str) -> None:
    assert "sk-secret" not in _refusal(tmp_path, f"[[source]]\nurl = '{url}'")
    assert "sk-secret" not in _refusal(tmp_path, f"{SOURCE}[source.oauth]\nissuer = '{url}'")


def test_fields_that_do_not_go_together_are_told_with_the_variable_that_set_one(tmp_path: Path) -> None:
    told = _refusal(tmp_path, SOURCE, QUARTERMASTER_FLOW__DASK_ADDRESS="tcp://host:8786")
    assert told.startswith("flow (with QUARTERMASTER_FLOW__DASK_ADDRESS): dask_address is for")


@pytest.mark.parametrize(("over", "variables"), [({"enrichment": {"model": "x"}}, {}), (None, {"OPENAI_API_KEY": "x"})])
def test_a_section_that_is_no_table_is_refused_though_it_is_added_to(
    tmp_path: Path, over: dict[str, dict[str, Any]] | None, variables: dict[str, str]
) -> None:
    told = _refusal(tmp_path, f"enrichment = 'lexicon'\n{SOURCE}", over, **variables)
    assert told == 'enrichment is "lexicon": it must be a table of names and values'


@pytest.mark.parametrize(
    ("hook", "sentence"),
    [
        ('events = ["helt"]', "notify.events.0"),
        ('url = "ftp://x"', "notify.url: it is not an address of http or https"),
        ('headers = {A = "b"}', "notify.headers: they are for a url, and notify.url is not set"),
        ("timeout_s = 0", "notify.timeout_s"),
    ],
)
def test_a_wrong_hook_is_refused_and_counts_as_none_where_nothing_can_be_loaded(
    tmp_path: Path, hook: str, sentence: str
) -> None:
    assert sentence in _refusal(tmp_path, f'{SOURCE}[metrics]\ntextfile = "x.prom"\n[notify]\n{hook}\n')
    _, notify, metrics = monitoring_of(tmp_path, {})
    assert (notify.command, notify.url, metrics.textfile) == (None, None, Path("x.prom"))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"python": "a-b"}, "'a-b' is neither package.module nor package.module:name"),
        ({"python": "a", "format": "mcp"}, "format is for a document"),
        ({"python": "a", "fields": {"name": "b"}}, "fields is for a document"),
        ({"path": "reg", "provider": "{dir}"}, "is not filled in: {folder} and {file} are, of a path"),
        ({"url": "https://a.example", "provider": "{file}"}, "is not filled in: {folder} and {file} are, of a path"),
        ({"python": "a", "prompts": True}, "prompts are asked of a live MCP server"),
        ({"path": "a.json", "headers": {"X": "y"}}, "headers are for a url"),
        ({"path": "a.json", "env": {"X": "y"}}, "env is for a command or python"),
        ({"command": ["x"], "oauth": {}}, "oauth are for a url"),
        ({"url": "http://x", "format": "openapi", "oauth": {}}, "oauth is for an MCP server"),
        ({"url": "http://x", "oauth": {}, "headers": {"authorization": "x"}}, "leave one of the two out"),
        ({"url": "http://x", "headers": {"Host": "y"}}, "this header is set by the program itself"),
        ({"url": "http://x", "headers": {"X": "y", "x": "y"}}, "stands there twice"),
        ({"url": "http://x", "headers": {"X": "a\r\nY: b"}}, "it holds a control character"),
        ({"url": "http://x", "headers": {"X": "${}"}}, "must be followed by the name of a variable"),
        ({"url": "ftp://${HOST}/x"}, "it is not an address of http or https"),
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


@pytest.mark.parametrize(
    "text",
    ["name = ", "keep = " + "9" * 5_000, "keep = " + "[" * 100_000, "a." * 20_000 + "a = 1", "a." * 400 + "a = 1"],
    ids=["nothing", "number", "lists", "dots", "depth"],
)
def test_a_toml_that_cannot_be_read_is_refused_with_its_path_however_it_fails(tmp_path: Path, text: str) -> None:
    told = _refusal(tmp_path, f"{text}\n")
    assert told.startswith(f"{tmp_path / 'catalog.toml'} cannot be read: ")
    assert text != "name = " or "line 1" in told


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="nothing does not exist: name a catalog folder, or a file of tool def"):
        load(tmp_path / "nothing", None, {})


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a b", "a\\\\b", "büro", "../x", "a\\n"])
def test_a_name_that_cannot_be_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    assert " cannot name a folder here: use letters" in _refusal(tmp_path, f'name = "{name}"\n{SOURCE}')


@pytest.mark.parametrize("name", ["office", "Office_2", "a.b-c", "_x", "-x", "7"])
def test_a_name_that_can_be_a_folder_is_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / "catalog.toml").write_text(f"name = '{name}'\n{SOURCE}", encoding="utf-8")
    assert load(tmp_path, None, {}).name == name
