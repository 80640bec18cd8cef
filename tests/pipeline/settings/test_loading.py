"""Settings: where each value comes from, and what is done with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline.errors import SettingsInvalid
from pipeline.settings import CatalogSettings, EnrichmentSettings, SourceSettings, load
from pipeline.settings.catalog import EVENTS
from pipeline.settings.loading import monitoring_of
from router.retrieval.recipe import RECIPES

WriteToml = Callable[..., Path]


@pytest.fixture
def write_toml(tmp_path: Path) -> WriteToml:
    """Write a catalog.toml with one source and this besides, and return the catalog's folder."""

    def write(text: str = "") -> Path:
        folder = tmp_path / "office"
        folder.mkdir()
        (folder / "catalog.toml").write_text(f'{text}\n[[source]]\npath = "tools.jsonl"\n', encoding="utf-8")
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


def test_a_section_of_the_environment_needs_none_in_the_toml_and_is_the_process_s_own_where_none_is_given(
    write_toml: WriteToml, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_toml()
    monkeypatch.setenv("QUARTERMASTER_PUBLISH__KEEP", "9")
    assert load(folder).publish.keep == 9 and load(folder).name == "office"
    assert _load(folder).vectors.encoder == "auto"
    assert _load(folder, QUARTERMASTER_VECTORS__ENCODER="small").vectors.encoder == "small"
    assert _load(folder, {"publish": {"keep": 2}}, QUARTERMASTER_PUBLISH__MAX_REJECTED_SHARE="0.5").publish.keep == 2


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


def test_no_key_and_no_header_is_printed_and_none_of_a_section_that_is_refused(write_toml: WriteToml) -> None:
    folder = write_toml(
        '[[source]]\nurl = "https://x/mcp"\nheaders = {Authorization = "Bearer sk-secret", X = "${NONE}"}'
    )
    settings = _load(folder, OPENAI_API_KEY="sk-secret")
    for text in (repr(settings), str(settings), settings.model_dump_json(), str(settings.model_dump())):
        assert "sk-secret" not in text and "**********" in text
    message = _refusal(folder, {"enrichment": {"api_key": ["sk-secret"]}}, QUARTERMASTER_PUBLISH__KEEP="0")
    assert "enrichment.api_key" in message and "sk-secret" not in message
    with pytest.raises(ValidationError) as refused:
        EnrichmentSettings.model_validate({"api_key": ["sk-secret"]})
    assert "api_key" in str(refused.value) and "sk-secret" not in str(refused.value)


def test_a_recipe_is_named_or_written_out(write_toml: WriteToml) -> None:
    folder = write_toml("[retrieval]\nrecipe = 'lexical'\n")
    assert _load(folder).retrieval.resolve() == RECIPES["lexical"]
    written = RECIPES["published"].to_json()
    assert _load(folder, {"retrieval": {"recipe": written}}).retrieval.resolve() == RECIPES["published"]


@pytest.mark.parametrize(
    ("source", "live"),
    [
        ({"url": "https://x", "format": "mcp"}, True),
        ({"path": "x.json", "format": "mcp"}, False),
    ],
)
def test_a_command_or_url_is_a_live_server_unless_it_says_another_format(source: dict[str, Any], live: bool) -> None:
    assert SourceSettings(**source).is_live_server is live


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["de"], ("en", "de")),
        (["ja", "en", "de", "de"], ("en", "de", "ja")),
        ([], ("en",)),
        ("es, DE", ("en", "de", "es")),  # as the environment has it
    ],
)
def test_english_is_always_among_the_languages_and_first(given: Any, kept: tuple[str, ...]) -> None:
    assert EnrichmentSettings(languages=given).languages == kept


def test_lists_and_objects_may_come_from_the_environment(write_toml: WriteToml) -> None:
    variables = {
        "QUARTERMASTER_ENRICHMENT__LANGUAGES": "de,ja",
        "QUARTERMASTER_ENRICHMENT__PARAMETERS": ' {"temperature": 0.5}',
        "QUARTERMASTER_NOTIFY__COMMAND": '["./page", "--team"]',
        "QUARTERMASTER_NOTIFY__EVENTS": '["held", "failed"]',
        "QUARTERMASTER_METRICS__TEXTFILE": "/var/lib/metrics",
    }
    folder = write_toml()
    assert load(folder, environment={}).notify.events == EVENTS  # unless the settings choose
    settings = load(folder, environment=variables)
    assert settings.enrichment.languages == ("en", "de", "ja")
    assert settings.enrichment.parameters == {"temperature": 0.5}
    assert settings.notify.command == ("./page", "--team") and settings.notify.events == ("held", "failed")
    assert settings.metrics.textfile == Path("/var/lib/metrics")
    assert monitoring_of(folder, variables) == ("office", settings.notify, settings.metrics)


def test_a_language_that_cannot_be_indexed_is_refused_with_those_that_can(write_toml: WriteToml) -> None:
    refusal = _refusal(write_toml('[enrichment]\nlanguages = ["de", "German"]'))
    assert "enrichment.languages: 'german' is not a language that can be indexed: choose from ar, bg," in refusal
