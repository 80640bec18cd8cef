"""Settings that are refused: each problem in plain English, named as the user wrote it."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsInvalid
from pipeline.settings import load

SOURCE = '[[source]]\npath = "tools.jsonl"\n'


def _refusal(folder: Path, text: str, over: dict[str, dict[str, Any]] | None = None, **environment: str) -> str:
    (folder / "catalog.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsInvalid) as refused:
        load(folder, over, environment)
    return str(refused.value).removeprefix(f"settings of {folder / 'catalog.toml'}: ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[source]]\npaht = "a.json"', 'source 1: paht: unknown setting, did you mean "path"?'),
        (f'{SOURCE}[[source]]\nURL = "http://x"', 'source 2: URL: unknown setting, did you mean "url"?'),
        (f"{SOURCE}[publish]\nkepe = 3", 'publish.kepe: unknown setting, did you mean "keep"?'),
        (f"{SOURCE}[enrichmnt]\nmodel = 'x'", 'enrichmnt: unknown setting, did you mean "enrichment"?'),
        (f"model = 'x'\n{SOURCE}", "model: unknown setting, choose from name, source, sources, limits, enrichment"),
        (f"{SOURCE}[enrichment.batch]\npol_s = 1", 'enrichment.batch.pol_s: unknown setting, did you mean "poll_s"?'),
        (f"{SOURCE}[vectors]\ncolor = 1", "vectors.color: unknown setting, choose from encoder, preferred, query"),
        (f"{SOURCE}[publish]\nkeep = 0", "publish.keep is 0: it must be at least 1"),
        (f"{SOURCE}[publish]\nkeep = 1.5", "publish.keep is 1.5: it must be a whole number"),
        (f"name = 7\n{SOURCE}", "name is 7: it must be a text"),
        (f"{SOURCE}[publish]\njudged = 'maybe'", 'publish.judged is "maybe": it must be true or false'),
        (
            f"{SOURCE}[vectors]\nprecision = 'fp16'",
            "vectors.precision is \"fp16\": it must be 'auto', 'fp32' or 'int8'",
        ),
        (f"{SOURCE}[enrichment.prices.m]\ninput = 1\ncached = 1", "enrichment.prices.m.output is missing"),
        ("", "source: write one [[source]] for each file, command or URL"),
        ('[source]\npath = "x"', "source is a table: it must be a list"),
        (f"sources = []\n{SOURCE}", "sources is a list: it must be a table of names and values"),
        (f"folder = 'x'\n{SOURCE}", "folder cannot be set: it is the folder of the catalog itself"),
        (f"{SOURCE}timeout_s = inf", "source 1: timeout_s is inf: it must be a finite number"),
        (f"enrichment = 'x'\n{SOURCE}", 'enrichment is "x": it must be a table of names and values'),
        (f'{SOURCE}headers."a\\nb" = "c"', 'source 1: headers."a\\nb": it cannot name a header'),
        (
            f"{SOURCE}[source.oauth]\nclientid = 'x'",
            'source 1: oauth.clientid: unknown setting, did you mean "client',
        ),
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
    ).splitlines()
    assert told[0] == "7 problems"
    for line in (
        "tuning.adapter is 3: it must be true or false",
        "the argument --generator (enrichment.generator) is \"magic\": it must be 'auto', "
        "'openai', 'lexicon' or 'none'",
        "tuning.max_stale_share is 2: it must be at most 1",
        'QUARTERMASTER_PUBLISH__KEEP (publish.keep) is "0": it must be at least 1',
        'QUARTERMASTER_PUBLISH__KEPE (publish.kepe): unknown setting, did you mean "keep"?',
    ):
        assert f"  {line}" in told
    assert any(
        line.startswith("  QUARTERMASTER_VECTOR__ENCODER: there is no section 'vector': did you") for line in told
    )
    assert any(line.startswith("  QUARTERMASTER_ENRICHMENT__PARAMETERS is not JSON: ") for line in told)
    assert not any("sk-secret" in line for line in told)


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("enrichment", "api_key = ['sk-secret']"),
        ("enrichment", "base_url = {key = 'sk-secret'}"),
        ("enrichment", "parameters = 'sk-secret'"),
        ("notify", "command = 'sk-secret'"),
        ("notify", "headers = 'sk-secret'"),
    ],
)
def test_what_may_be_a_secret_is_not_shown(tmp_path: Path, section: str, value: str) -> None:
    told = _refusal(tmp_path, f"{SOURCE}[{section}]\n{value}")
    assert told.startswith(f"{section}.{value.partition(' ')[0]} must be ") and "sk-secret" not in told


def test_fields_that_do_not_go_together_are_told_with_the_variable_that_set_one(tmp_path: Path) -> None:
    (tmp_path / "catalog.toml").write_text(SOURCE, encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=r"flow \(with QUARTERMASTER_FLOW__DASK_ADDRESS\): dask_address is for"):
        load(tmp_path, None, {"QUARTERMASTER_FLOW__DASK_ADDRESS": "tcp://host:8786"})


def test_a_section_that_is_no_table_is_refused_though_it_is_added_to(tmp_path: Path) -> None:
    for over, variables in (({"enrichment": {"model": "x"}}, {}), (None, {"OPENAI_API_KEY": "sk-x"})):
        told = _refusal(tmp_path, f"enrichment = 'lexicon'\n{SOURCE}", over, **variables)
        assert told == 'enrichment is "lexicon": it must be a table of names and values'
