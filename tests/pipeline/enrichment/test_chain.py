"""The generators that a build asks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment.chain import generators
from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from pipeline.progress import SilentProgress
from pipeline.settings import CatalogSettings
from tests.pipeline.enrichment.catalog_run import catalog

_AHEAD: dict[str, Any] = {"expansions": "ahead/e.jsonl"}


@pytest.mark.parametrize(
    ("enrichment", "names"),
    [
        ({}, []),
        ({"api_key": "sk-1"}, ["openai"]),
        ({"base_url": "http://127.0.0.1:1/v1"}, ["openai"]),
        ({"api_key": "sk-1", "mode": "batch"}, ["openai"]),
        ({"api_key": "sk-1", "generator": "none"}, []),
        ({"generator": "openai"}, ["openai"]),
        ({**_AHEAD, "generator": "none"}, ["file"]),
    ],
)
def test_the_chain_follows_from_the_settings_and_a_file_comes_first(
    tmp_path: Path, write_lines: Callable[[str, list[Any]], Path], enrichment: dict[str, Any], names: list[str]
) -> None:
    write_lines("ahead/e.jsonl", [{"id": "a", "user_phrases": ["do a"]}])
    settings = CatalogSettings(name="c", folder=tmp_path, source=[{"path": "tools.json"}], enrichment=enrichment)
    with Ledger.open(tmp_path) as ledger:
        chain = generators(settings, ledger, SilentProgress(), catalog())
        assert [generator.name for generator in chain] == names
        if "mode" in enrichment:
            assert type(chain[0]).__name__ == "BatchGenerator"
        if enrichment.get("expansions"):
            (tmp_path / "ahead/e.jsonl").unlink()
            with pytest.raises(RunAborted, match=r"e\.jsonl does not exist"):
                generators(settings, ledger, SilentProgress(), catalog())
