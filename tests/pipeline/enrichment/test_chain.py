"""The generators that a build asks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment.chain import LexiconGenerator, generators
from pipeline.errors import RunAborted
from pipeline.progress import SilentProgress
from pipeline.settings import CatalogSettings
from tests.pipeline.enrichment.catalog_run import catalog, opened
from tests.pipeline.enrichment.model_server import replies
from tests.support.factories import make_record

_AHEAD: dict[str, Any] = {"expansions": "ahead/e.jsonl"}


@pytest.mark.parametrize(
    ("enrichment", "names"),
    [
        ({}, ["lexicon"]),
        ({"api_key": "sk-1"}, ["openai", "lexicon"]),
        ({"base_url": "http://127.0.0.1:1/v1"}, ["openai", "lexicon"]),
        ({"api_key": "sk-1", "fallback": "none"}, ["openai"]),
        ({"api_key": "sk-1", "mode": "batch", "fallback": "none"}, ["openai"]),
        ({"api_key": "sk-1", "generator": "lexicon"}, ["lexicon"]),
        ({"api_key": "sk-1", "generator": "none"}, []),
        ({"generator": "openai"}, ["openai", "lexicon"]),
        ({"generator": "lexicon", "fallback": "none"}, ["lexicon"]),
        ({**_AHEAD, "generator": "lexicon"}, ["file", "lexicon"]),
        ({**_AHEAD, "generator": "none"}, ["file"]),
    ],
)
def test_the_chain_follows_from_the_settings_and_a_file_comes_first(
    tmp_path: Path, write_lines: Callable[[str, list[Any]], Path], enrichment: dict[str, Any], names: list[str]
) -> None:
    write_lines("ahead/e.jsonl", [{"id": "a", "user_phrases": ["do a"]}])
    settings = CatalogSettings(name="c", folder=tmp_path, source=[{"path": "tools.json"}], enrichment=enrichment)
    with opened(tmp_path) as ledger:
        chain = generators(settings, ledger, SilentProgress(), catalog())
        assert [generator.name for generator in chain] == names
        if "mode" in enrichment:
            assert type(chain[0]).__name__ == "BatchGenerator"
        if enrichment.get("expansions"):
            (tmp_path / "ahead/e.jsonl").unlink()
            with pytest.raises(RunAborted, match=r"e\.jsonl does not exist"):
                generators(settings, ledger, SilentProgress(), catalog())


def test_two_lexicons_write_the_same_about_each_record_under_the_same_model_name() -> None:
    records = [make_record("list_charges"), make_record("sendMessage", None, description="")]
    first, second = LexiconGenerator(), LexiconGenerator()
    said = list(replies(first, records))
    assert said == list(replies(second, records)) and [o.tool_id for o in said] == [r.tool_id for r in records]
    assert first.model == second.model and first.model.startswith("lexicon-")
