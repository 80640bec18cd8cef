"""Settings: where each value comes from, what is refused, and how that is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.errors import SettingsInvalid
from pipeline.settings import CatalogSettings, load
from router.recipe import RECIPES

WriteToml = Callable[[str], Path]
SOURCE = '[[source]]\npath = "tools.jsonl"\n'


@pytest.fixture
def write_toml(tmp_path: Path) -> WriteToml:
    """Write a catalog.toml with one source and this besides, and return the catalog's folder."""

    def write(text: str = "", source: str = SOURCE) -> Path:
        folder = tmp_path / "office"
        folder.mkdir()
        (folder / "catalog.toml").write_text(f"{text}\n{source}", encoding="utf-8")
        return folder

    return write


def _load(folder: Path, overrides: dict[str, dict[str, Any]] | None = None, **environment: str) -> CatalogSettings:
    return load(folder, overrides, environment)


def _refusal(folder: Path, overrides: dict[str, dict[str, Any]] | None = None, **environment: str) -> str:
    with pytest.raises(SettingsInvalid) as refused:
        load(folder, overrides, environment)
    return str(refused.value)


def test_arguments_win_over_environment_over_toml_over_defaults(write_toml: WriteToml) -> None:
    folder = write_toml("[enrichment]\nmodel = 'toml'\nconcurrency = 2\nmax_retries = 2\n")
    environment = {"QUARTERMASTER_ENRICHMENT__MODEL": "environment", "QUARTERMASTER_ENRICHMENT__CONCURRENCY": "3"}
    settings = _load(folder, {"enrichment": {"model": "argument"}}, **environment).enrichment
    assert (settings.model, settings.concurrency, settings.max_retries, settings.timeout_s) == ("argument", 3, 2, 60.0)


def test_a_section_of_the_environment_needs_none_in_the_toml(write_toml: WriteToml) -> None:
    folder = write_toml()
    assert _load(folder).vectors.encoder == "auto"
    assert _load(folder, QUARTERMASTER_VECTORS__ENCODER="small").vectors.encoder == "small"
    assert _load(folder, {"publish": {"keep": 2}}, QUARTERMASTER_PUBLISH__MAX_REJECTED_SHARE="0.5").publish.keep == 2


def test_the_process_s_environment_is_read_where_none_is_given(
    write_toml: WriteToml, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERMASTER_PUBLISH__KEEP", "9")
    assert load(write_toml()).publish.keep == 9


def test_openais_own_variables_are_read_and_ours_win(write_toml: WriteToml) -> None:
    folder = write_toml("[enrichment]\nbase_url = 'http://toml'\n")
    theirs = {"OPENAI_API_KEY": "sk-theirs", "OPENAI_BASE_URL": "http://theirs"}
    settings = _load(folder, None, **theirs, QUARTERMASTER_ENRICHMENT__API_KEY="sk-ours").enrichment
    assert settings.api_key is not None and settings.api_key.get_secret_value() == "sk-ours"
    assert settings.base_url == "http://theirs"
    assert _load(folder, OPENAI_BASE_URL="").enrichment.base_url == "http://toml"


@pytest.mark.parametrize(
    ("variables", "reaches"),
    [({}, False), ({"OPENAI_API_KEY": "sk-x"}, True), ({"OPENAI_BASE_URL": "http://x"}, True)],
)
def test_a_key_or_a_base_url_reaches_a_model(write_toml: WriteToml, variables: dict[str, str], reaches: bool) -> None:
    assert _load(write_toml(), None, **variables).enrichment.reaches_model is reaches


@pytest.mark.parametrize("variable", ["QUARTERMASTER_WORKSPACE", "QUARTERMASTER", "OTHER_VECTORS__ENCODER", "PATH"])
def test_other_variables_are_not_ours(write_toml: WriteToml, variable: str) -> None:
    folder = write_toml()
    assert _load(folder, None, **{variable: "x"}) == _load(folder)


def test_an_unknown_section_in_the_environment_is_refused_with_the_known_ones(write_toml: WriteToml) -> None:
    message = _refusal(write_toml(), QUARTERMASTER_VECTOR__ENCODER="x")
    expected = "there is no section 'vector': use enrichment, vectors, retrieval, publish"
    assert message == f"QUARTERMASTER_VECTOR__ENCODER: {expected}"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("[enrichment]\ngenerator = 'gpt'", "enrichment.generator"),
        ("[enrichment]\nfallback = 'openai'", "enrichment.fallback"),
        ("[enrichment]\nconcurrency = 0", "enrichment.concurrency"),
        ("[enrichment]\nconcurrency = 257", "enrichment.concurrency"),
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
        ("color = 'red'", "color"),
        ("[enrichment]\ncolor = 'red'", "enrichment.color"),
        ("[vectors]\ncolor = 'red'", "vectors.color"),
        ("[publish]\ncolor = 'red'", "publish.color"),
        ("[colors]\nred = 1", "colors"),
    ],
)
def test_a_wrong_or_unknown_value_names_its_file_and_field(write_toml: WriteToml, text: str, field: str) -> None:
    folder = write_toml(text)
    assert f"settings of {folder / 'catalog.toml'}: {field}" in _refusal(folder)


def test_every_wrong_field_is_named_at_once(write_toml: WriteToml) -> None:
    message = _refusal(write_toml("[publish]\nkeep = 0\n[vectors]\nbatch_size = 0\n"), {"enrichment": {"color": "red"}})
    assert all(field in message for field in ("publish.keep: ", "vectors.batch_size: ", "enrichment.color: "))


@pytest.mark.parametrize(
    ("overrides", "environment"),
    [({"enrichment": {"model": "x"}}, {}), ({}, {"OPENAI_API_KEY": "sk-x"})],
)
def test_a_section_that_is_no_table_is_refused_though_it_is_added_to(
    write_toml: WriteToml, overrides: dict[str, Any], environment: dict[str, str]
) -> None:
    message = _refusal(write_toml("enrichment = 'lexicon'"), overrides, **environment)
    assert "enrichment: Input should be a valid dictionary" in message


@pytest.mark.parametrize(("section", "field", "value"), [("publish", "keep", "many"), ("vectors", "speed", "1")])
def test_a_wrong_value_of_the_environment_names_its_field(
    write_toml: WriteToml, section: str, field: str, value: str
) -> None:
    message = _refusal(write_toml(), None, **{f"QUARTERMASTER_{section}__{field}".upper(): value})
    assert f"{section}.{field}: " in message


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "source: Field required"),
        ("source = []", "source: Tuple should have at least 1 item"),
        ("[[source]]", "source.0: Value error, a source has exactly one of path, command and url"),
        (f"{SOURCE}url = 'http://x'", "source.0: Value error, a source has exactly one of path, command and url"),
        (f"{SOURCE}[[source]]\nurl = 'u'\nformat = 'openapi'", "source.1: Value error, a command or url is an MCP"),
        ("[[source]]\ncommand = []", "source.0: Value error, command is empty"),
        ("[[source]]\ncommand = 'npx x'", "source.0.command: Input should be a valid tuple"),
        (f"{SOURCE}format = 'csv'", "source.0.format: Input should be 'function', 'openapi', 'mcp' or 'jsonl'"),
        (f"{SOURCE}timeout_s = 0", "source.0.timeout_s: Input should be greater than 0"),
        (f"{SOURCE}color = 'red'", "source.0.color: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_source_is_refused_with_its_number(write_toml: WriteToml, source: str, reason: str) -> None:
    assert reason in _refusal(write_toml("", source))


def test_a_toml_that_does_not_parse_is_refused_with_its_path_and_place(write_toml: WriteToml) -> None:
    folder = write_toml("name = ")
    message = _refusal(folder)
    assert message.startswith(f"{folder / 'catalog.toml'} cannot be read: ")
    assert "line 1" in message


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nothing"
    assert _refusal(path) == f"{path} does not exist: name a catalog folder, or a file of tool definitions"


def test_a_key_is_not_printed(write_toml: WriteToml) -> None:
    settings = _load(write_toml(), OPENAI_API_KEY="sk-secret")
    for text in (repr(settings), str(settings), settings.model_dump_json(), str(settings.model_dump())):
        assert "sk-secret" not in text and "**********" in text


def test_a_refusal_prints_no_key(write_toml: WriteToml) -> None:
    message = _refusal(write_toml(), {"enrichment": {"api_key": ["sk-secret"]}}, QUARTERMASTER_PUBLISH__KEEP="0")
    assert "enrichment.api_key" in message and "sk-secret" not in message


def test_settings_are_frozen(write_toml: WriteToml) -> None:
    settings = _load(write_toml())
    with pytest.raises(ValidationError, match="frozen"):
        settings.name = "other"  # type: ignore[misc]


def test_a_source_is_found_in_the_catalogs_folder(write_toml: WriteToml, tmp_path: Path) -> None:
    settings = _load(write_toml())
    assert settings.resolve(Path("a/b.json")) == tmp_path / "office" / "a" / "b.json"
    assert settings.resolve(tmp_path / "c.json") == tmp_path / "c.json"


@pytest.mark.parametrize("name", ["office", "Office_2", "a.b-c", "_x", "-x", "7"])
def test_a_name_that_can_be_a_folder_is_taken(write_toml: WriteToml, name: str) -> None:
    assert _load(write_toml(f"name = '{name}'")).name == name


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a b", "a\\\\b", "büro", "../x", "a\\n"])
def test_a_name_that_cannot_be_a_folder_is_refused(write_toml: WriteToml, name: str) -> None:
    assert ": name: Value error, name is " in _refusal(write_toml(f'name = "{name}"'))


def test_a_catalog_without_name_is_called_like_its_folder(write_toml: WriteToml) -> None:
    assert _load(write_toml()).name == "office"


def test_a_recipe_is_named_or_written_out(write_toml: WriteToml) -> None:
    folder = write_toml("[retrieval]\nrecipe = 'lexical'\n")
    assert _load(folder).retrieval.resolve() is RECIPES["lexical"]
    written = RECIPES["published"].to_json()
    assert _load(folder, {"retrieval": {"recipe": written}}).retrieval.resolve() == RECIPES["published"]
