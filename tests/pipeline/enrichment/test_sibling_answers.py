"""Many answers that speak of other tools of the same provider are found; honest ones never."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from pipeline.enrichment.sibling_answers import SiblingAnswers, least_share
from pipeline.records import catalog_records
from pipeline.settings import load
from pipeline.sources import read
from router.expansion import Expansion
from router.record import ToolRecord

_DEMO = Path(__file__).parents[3] / "catalogs" / "demo"
_LINES = (_DEMO / "expansions.jsonl").read_text(encoding="utf-8").splitlines()
_HONEST = {row["id"]: Expansion.from_json(row) for row in map(json.loads, _LINES)}


@pytest.fixture(scope="module")
def records() -> list[ToolRecord]:
    found = catalog_records(read(load(_DEMO, environment={})).tools).records
    return [record for record in found if record.tool_id in _HONEST]


def _swapped(records: Iterable[ToolRecord]) -> dict[str, Expansion]:
    """Return for each tool the answer of the next one of its provider."""
    by_provider = defaultdict(list)
    for record in records:
        by_provider[record.provider].append(record.tool_id)
    pairs = ((one, other) for ids in by_provider.values() for one, other in zip(ids, ids[1:] + ids[:1], strict=True))
    return {one: _HONEST[other] for one, other in pairs}


def _found(records: list[ToolRecord], answers: Mapping[str, Expansion]) -> set[str]:
    looked_at = SiblingAnswers(records)
    for record in records:
        looked_at.add(record.tool_id, record, answers[record.tool_id])
    return set(looked_at.found())


def test_no_honest_answer_is_found_and_most_swapped_ones_are(records: list[ToolRecord]) -> None:
    swapped = _swapped(records)
    assert len(records) > 200 and _found(records, _HONEST) == set()
    assert len(_found(records, swapped)) > 0.8 * len(records)


def test_where_half_are_swapped_few_honest_ones_are_found_beside_them(records: list[ToolRecord]) -> None:
    swapped = dict([*_swapped(records).items()][::2])
    found = _found(records, _HONEST | swapped)
    assert len(found & swapped.keys()) > 0.8 * len(swapped) and len(found - swapped.keys()) < 0.15 * len(records)


def test_seven_swapped_answers_may_be_chance(records: list[ToolRecord]) -> None:
    provider = Counter(record.provider for record in records).most_common(1)[0][0]
    few = [record for record in records if record.provider == provider]
    swapped = _swapped(few)
    assert _found(few[:7], swapped) == set() and len(_found(few, swapped)) > 7


def test_the_tools_of_one_provider_do_not_speak_for_the_others() -> None:
    asked = Counter({"careless": 90, "a": 5, "b": 5})
    assert least_share(Counter({"careless": 90}), asked) == pytest.approx(1 / 3)
    assert least_share(Counter({"a": 5, "b": 5}), asked) == 0.1
    assert least_share(Counter(), Counter()) == 0
