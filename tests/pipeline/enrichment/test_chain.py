"""The generators that a build asks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment.chain import generators
from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from pipeline.settings import CatalogSettings

_LINE = {"id": "a", "user_phrases": ["do a"]}


def _names(tmp_path: Path, **enrichment: Any) -> list[str]:
    settings = CatalogSettings(name="c", folder=tmp_path, source=[{"path": "tools.json"}], enrichment=enrichment)
    with Ledger.open(tmp_path) as ledger:
        return [generator.name for generator in generators(settings, ledger, lambda _: None)]


@pytest.mark.parametrize(
    ("enrichment", "names"),
    [
        ({}, ["lexicon"]),
        ({"api_key": "sk-1"}, ["openai", "lexicon"]),
        ({"base_url": "http://127.0.0.1:1/v1"}, ["openai", "lexicon"]),
        ({"api_key": "sk-1", "fallback": "none"}, ["openai"]),
        ({"api_key": "sk-1", "generator": "lexicon"}, ["lexicon"]),
        ({"api_key": "sk-1", "generator": "none"}, []),
        ({"generator": "openai"}, ["openai", "lexicon"]),
        ({"generator": "lexicon", "fallback": "none"}, ["lexicon"]),
    ],
)
def test_the_chain_follows_from_the_settings(tmp_path: Path, enrichment: dict[str, Any], names: list[str]) -> None:
    assert _names(tmp_path, **enrichment) == names


@pytest.mark.parametrize("generator", ["lexicon", "none"])
def test_a_file_of_expansions_comes_first_whatever_the_generator(
    tmp_path: Path, write_lines: Callable[[str, list[Any]], Path], generator: str
) -> None:
    write_lines("ahead/e.jsonl", [_LINE])
    names = _names(tmp_path, expansions="ahead/e.jsonl", generator=generator)
    assert names == ["file", *([] if generator == "none" else [generator])]


def test_a_missing_file_of_expansions_aborts(tmp_path: Path) -> None:
    with pytest.raises(RunAborted, match=r"e\.jsonl does not exist"):
        _names(tmp_path, expansions="e.jsonl")
