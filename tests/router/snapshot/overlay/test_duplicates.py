"""Duplicates among tools registered at run time are grouped as a build of all tools would group them."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.record import ToolRecord
from router.retrieval.deduplication import duplicate_groups
from router.snapshot.overlay import Overlay
from router.snapshot.overlay.layering import apply_overlay
from router.snapshot.snapshot import Snapshot
from tests.router.snapshot.overlay.small_catalogs import built
from tests.support.factories import make_record

# Pairs within a provider, forks of one and of both, and a tool that nobody else has.
HELD = ("a/query", "a/query~2", "b/query", "c/query", "c/other", "d/query~5")
TEXTS = ("Runs SQL.", "Runs CQL.")
DRAWN = st.tuples(st.sampled_from("abcde"), st.sampled_from(["", "~1", "~2", "~3", "~9", "a"]), st.sampled_from(TEXTS))


def record(tool_id: str, description: str = TEXTS[0]) -> ToolRecord:
    name = "other" if tool_id.endswith("other") else "query"
    return make_record(name, tool_id.partition("/")[0], tool_id=tool_id, description=description)


def row(tool_id: str) -> dict[str, Any]:
    one = record(tool_id)
    # What tells a provider's second tool from its first is its schema.
    schema = {"type": "object", "properties": {tool_id[-1]: {"type": "string"}}}
    return {"id": tool_id, "name": one.name, "provider": one.provider, "description": one.description} | {
        "parameters": schema
    }


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder: Path = tmp_path_factory.mktemp("forks")
    return Snapshot.open(built(folder, [row(tool_id) for tool_id in HELD]))


def grouped(snapshot: Snapshot) -> set[frozenset[str]]:
    """Return the duplicate groups of the served tools, as sets of ids."""
    groups: dict[int, set[str]] = {}
    for ordinal in snapshot.records.by_id().tolist():
        group = ordinal if snapshot.duplicates is None else int(snapshot.duplicates[ordinal])
        groups.setdefault(group, set()).add(snapshot.records.tool_id(ordinal))
    return {frozenset(ids) for ids in groups.values()}


def as_a_build_would(records: list[ToolRecord]) -> set[frozenset[str]]:
    groups: dict[int, set[str]] = {}
    for one, group in zip(records, duplicate_groups(records).tolist(), strict=True):
        groups.setdefault(group, set()).add(one.tool_id)
    return {frozenset(ids) for ids in groups.values()}


@given(st.lists(DRAWN, unique_by=lambda drawn: drawn[:2], max_size=8))
def test_a_build_and_a_registration_agree_on_duplicates(base: Snapshot, drawn: list[tuple[str, str, str]]) -> None:
    registered = [record(f"{provider}/query{suffix}", text) for provider, suffix, text in drawn]
    overlaid = apply_overlay(base, Overlay().registered(registered))
    kept = {one.tool_id: one for one in (base.records.entry(at).record for at in range(len(base.records)))}
    everything = sorted((kept | {one.tool_id: one for one in registered}).values(), key=lambda one: one.tool_id)
    assert grouped(overlaid) == as_a_build_would(everything)
