"""Which tools must run first, as the file of a snapshot tells it: the edges, the chains, a tool's page."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.inspection import Inspection
from tests.pipeline.inspection.conftest import Shop
from tests.support.film_tools import CHAIN, FILM_TOOLS
from tests.support.publishing import sign_database

_SEARCH_FILM, _LIST_CASTS, _LIST_IMAGES, _IMAGE_SIZE = (row["id"] for row in CHAIN)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of the film tools, those of the chain among them."""
    rows = {row["id"]: row for row in (*FILM_TOOLS, *CHAIN)}
    return Shop(tmp_path_factory.mktemp("films")).build(*rows.values())


def edges(snapshot: Path, name: str = "prerequisites") -> list[dict[str, Any]]:
    with Inspection.open(snapshot) as inspection:
        return list(inspection.table(name, 100).to_json()["rows"])


def test_each_edge_has_its_parameter_its_confidence_and_what_shows_it(films: Path) -> None:
    (person,) = (row for row in edges(films) if row["tool_id"] == "films/get_person_credits")
    assert person.pop("because").startswith("search_person finds")
    assert person == {
        "tool_id": "films/get_person_credits",
        "parameter": "person_id",
        "kind": "identifier",
        "noun": "person",
        "resolver": "films/search_person",
        "confidence": 1.0,
        "evidence": "name",
        "of_own": False,
    }


def test_chains_follow_what_a_resolver_needs_for_three_steps_at_the_product_of_confidences(films: Path) -> None:
    of_chain = {row["id"] for row in CHAIN}
    found = edges(films, "prerequisite_chains")
    chains = {row["chain"]: row for row in found if of_chain.issuperset(row["tool_ids"])}
    longest = next(iter(chains.values()))
    assert longest["chain"] == (
        f"{_IMAGE_SIZE} → image_id → {_LIST_IMAGES} → cast_id → {_LIST_CASTS} → film_id → {_SEARCH_FILM}"
    )
    assert (longest["steps"], longest["tool_ids"]) == (3, [_IMAGE_SIZE, _LIST_IMAGES, _LIST_CASTS, _SEARCH_FILM])
    assert sorted(row["steps"] for row in chains.values()) == [1, 1, 1, 2, 2, 3]
    sure = {(row["tool_id"], row["resolver"]): row["confidence"] for row in edges(films)}
    for chain in chains.values():
        product = 1.0
        for pair in zip(chain["tool_ids"], chain["tool_ids"][1:], strict=False):
            product *= sure[pair]
        assert chain["confidence"] == pytest.approx(product, abs=0.001)


def test_a_tool_page_has_what_it_needs_and_what_needs_it(films: Path) -> None:
    with Inspection.open(films) as inspection:
        needing, needed = inspection.tool("films/get_person_credits"), inspection.tool("films/search_person")
    assert [row["resolver"] for row in needing.to_json()["prerequisites"]] == ["films/search_person"]
    assert needed.to_json()["needed_by"] == [
        {"tool_id": "films/get_person_credits", "parameter": "person_id", "confidence": 1.0}
    ]
    assert not needing.needed_by and not needed.prerequisites


def test_a_tool_page_opens_in_a_snapshot_of_a_version_without_the_table(films: Path, tmp_path: Path) -> None:
    snapshot = shutil.copytree(films, tmp_path / films.name)
    with duckdb.connect(str(snapshot / "catalog.duckdb")) as connection:
        connection.execute("DROP VIEW prerequisite_chains; DROP TABLE prerequisites")
    sign_database(snapshot)
    with Inspection.open(snapshot) as inspection:
        page = inspection.tool("films/search_film").to_json()
    assert page["prerequisites"] == page["needed_by"] == []
