"""A model is asked by what it is shown, and nothing that was paid for is paid for again."""

from pathlib import Path
from typing import Any

from pipeline.enrichment.chain import generators
from pipeline.enrichment.estimate import estimate
from pipeline.enrichment.openai import BatchGenerator, DirectGenerator
from pipeline.ledger import Ledger
from pipeline.progress import SilentProgress
from pipeline.records import Catalog, catalog_records
from pipeline.settings import CatalogSettings, EnrichmentSettings, SourceSettings
from router.record import Origin
from tests.pipeline.enrichment.batch_server import BatchServer, Course
from tests.pipeline.enrichment.catalog_run import enriched, run
from tests.pipeline.enrichment.model_server import COST, ModelServer, spent
from tests.support.factories import make_raw

_NAMES = ("a", "b", "c")


def _settings(folder: Path, enrichment: EnrichmentSettings) -> CatalogSettings:
    return CatalogSettings(name="office", folder=folder, source=(SourceSettings(path="x"),), enrichment=enrichment)


def _catalog(**changed: Any) -> Catalog:
    """Three tools, of which the first has these keys in the schema of its parameter `city`, or these fields."""
    fields = {name: changed.pop(name) for name in ("origin", "annotations", "description") if name in changed}
    more = {f"p{n:02}": {"type": "string"} for n in range(changed.pop("others", 0))}
    schemas = [{"city": {"type": "string", **changed}, **more}, *[{"city": {"type": "string"}}] * 2]
    return catalog_records(
        make_raw(
            name,
            provider="office",
            input_schema={"type": "object", "properties": schema},
            **{"description": f"It does {name}.", **(fields if name == "a" else {})},
        )
        for name, schema in zip(_NAMES, schemas, strict=True)
    )


def test_only_a_change_that_the_prompt_shows_asks_again_and_about_this_tool_alone(tmp_path: Path) -> None:
    changes: list[tuple[dict[str, Any], list[str]]] = [
        ({}, list(_NAMES)),
        ({"default": "Rome"}, []),
        ({"minLength": 3}, []),
        ({"origin": Origin("elsewhere.json", "/9")}, []),
        ({"annotations": {"readOnlyHint": True}}, []),
        ({"description": "It does more."}, ["a"]),
        ({"enum": ["Rome", "Oslo"]}, ["a"]),
        ({"others": 1}, ["a"]),
        ({"others": 39}, ["a"]),
        ({"others": 40}, []),  # the 41st parameter
    ]
    with ModelServer() as server:
        for change, asked in changes:
            before = len(server.asked)
            result = run(tmp_path, _catalog(**change), DirectGenerator(server.settings()))
            assert server.asked[before:] == asked, change
            assert (result.reused, result.stale, result.generators) == (3 - len(asked), {}, {"openai": 3})


def test_a_second_question_is_asked_by_what_it_shows_of_the_siblings(tmp_path: Path) -> None:
    with ModelServer() as server:
        for change in ({}, {"default": "Rome"}, {"description": "It does more."}):
            run(tmp_path, _catalog(**change), DirectGenerator(server.settings()), siblings={"office/b": ["office/a"]})
    assert server.asked == [*_NAMES, "b", "a", "b"]  # nothing for the default, which nobody is shown


def test_tools_that_a_model_cannot_tell_apart_are_one_question(tmp_path: Path) -> None:
    alike = catalog_records(
        make_raw("a", id=f"a{n}", description="It does a.", input_schema={"properties": {"c": {"default": n}}})
        for n in range(3)
    )
    with ModelServer() as server:
        result = run(tmp_path, alike, DirectGenerator(server.settings()))
    assert server.asked == ["a"]
    assert list(result.written) == ["a0", "a1", "a2"]
    assert result.usage == spent(1_000, 400, 200, COST)
    with BatchServer() as batches, Ledger.open(tmp_path / "batches") as ledger:
        result = enriched(ledger, alike, BatchGenerator(batches.settings(), ledger))
    assert batches.paid == ["a"]
    assert list(result.written) == ["a0", "a1", "a2"]


def test_a_question_in_an_open_batch_is_not_asked_directly_too(tmp_path: Path) -> None:
    with BatchServer(courses=[Course(["in_progress"])]) as batches, Ledger.open(tmp_path) as ledger:
        batched = _settings(tmp_path, batches.settings(wait_s=0))
        enriched(ledger, _catalog(), *generators(batched, ledger, SilentProgress(), _catalog()))
    with ModelServer() as server, Ledger.open(tmp_path) as ledger:
        direct = _settings(tmp_path, server.settings())
        chain = generators(direct, ledger, SilentProgress(), _catalog())
        foreseen = estimate(_catalog(), chain, direct.enrichment, ledger, assessed=False)
        result = enriched(ledger, _catalog(), *chain)
    assert server.asked == []
    assert (foreseen.awaited, foreseen.questions) == (3, 0)
    assert {failure.kind for failure in result.failures} == {"waiting"}
    assert all(failure.postponed and "--batch" in failure.message for failure in result.failures)
