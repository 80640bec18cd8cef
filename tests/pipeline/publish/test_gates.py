"""What keeps a snapshot from serving: shares that are too large, lost phrases with their cause, removed tools."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.build_state import MissingTools
from pipeline.enrichment import Enrichment, Expansion, GenerationFailure, ScreenedExpansion
from pipeline.ledger import KnownSource
from pipeline.publish.gates import (
    ServedSource,
    hold_reasons,
    lost_phrases_reasons,
    removal_reasons,
    served_sources,
    use_command,
)
from pipeline.records import catalog_records
from pipeline.settings import CatalogSettings, PublishSettings, SourceSettings
from pipeline.sources import Gap
from tests.support.factories import make_raw

_CATALOG = catalog_records(make_raw(f"t{number}") for number in range(10))
_TEN = [record.tool_id for record in _CATALOG.records]
_WORDS = Expansion("", ("do it",))


def _after(failed: int = 0, kind: str = "timeout", by: str = "") -> Enrichment:
    """Ten tools, of which the first failed; `by` wrote what serves instead."""
    written = {tool_id: ScreenedExpansion(_WORDS, by, "m", "k", _WORDS) for tool_id in _TEN[:failed] if by}
    return Enrichment(written=written, failures=[GenerationFailure(tool_id, kind, "why") for tool_id in _TEN[:failed]])


def _missing(skipped: int, sources: int, lost: int = 0, serving: int = 0) -> MissingTools:
    gaps = (Gap("a.json", "a.json", "is gone", lost), *(Gap(f"{n}.json", f"{n}.json", "is gone") for n in range(99)))
    return MissingTools((*gaps[:skipped], Gap("empty.json", "empty.json")), sources, serving)


@pytest.mark.parametrize(
    ("enrichment", "rejected", "missing", "limits", "reason"),
    [
        (_after(2), 0, MissingTools(), {}, None),
        (_after(3), 0, MissingTools(), {}, "enrichment failed for 30.0% of the tools; publish.max_failed_share"),
        (_after(10, by="file"), 0, MissingTools(), {}, None),  # another model answered
        *((_after(10, kind), 0, MissingTools(), {}, None) for kind in ("budget", "waiting")),
        (_after(10, "budget"), 0, MissingTools(), {"max_postponed_share": 0.5}, "100.0% of the tools were not asked"),
        (_after(), 1, MissingTools(), {"max_rejected_share": 0.1}, None),
        (_after(), 2, MissingTools(), {"max_rejected_share": 0.1}, "16.7% of the records were rejected"),  # 2 of 12
        (_after(), 0, _missing(1, 5), {}, None),
        (_after(), 0, _missing(2, 5), {}, "40.0% of the sources were skipped; publish.max_skipped_share (QUARTERM"),
        (_after(), 0, _missing(1, 50, lost=20, serving=100), {}, None),
        (_after(), 0, _missing(1, 50, lost=21, serving=100), {}, "21.0% of the serving tools came from skipped sour"),
        (_after(), 0, _missing(0, 1), {}, None),  # sources that are merely empty
    ],
)
def test_a_share_above_its_limit_holds_back_and_names_the_setting(
    enrichment: Enrichment, rejected: int, missing: MissingTools, limits: dict[str, float], reason: str | None
) -> None:
    held = hold_reasons(PublishSettings(**limits), _CATALOG, 10, rejected, enrichment, missing)
    assert len(held) == (reason is not None) and all(text.startswith(str(reason)) for text in held)
    assert all(" allows " in text and "(QUARTERMASTER_PUBLISH__MAX_" in text for text in held)


@pytest.mark.parametrize(
    ("workspace", "place"),
    [(".quartermaster", ""), ("/srv/work", " --workspace /srv/work"), ("my work", " --workspace 'my work'")],
)
def test_the_command_that_serves_a_held_snapshot_names_a_workspace_of_its_own(workspace: str, place: str) -> None:
    command = use_command(Path(workspace) / "snapshots" / "office" / "20261123T020009Z-08b8012b")
    assert command == f"quartermaster snapshots office --use 20261123T020009Z-08b8012b{place}"


_THIRTY = [f"p/t{number:02}" for number in range(30)]


def _lost(
    fallen: int, limit: float = 0.1, by: str = "openai", messages: tuple[str, ...] = (), **enrichment: Any
) -> tuple[str, ...]:
    """The reasons where the first tools lose their phrases."""
    written = {tool_id: ScreenedExpansion(_WORDS, by, "m", "k", _WORDS) for tool_id in _THIRTY[fallen:]}
    failures = [GenerationFailure(tool_id, "timeout", text) for tool_id, text in zip(_THIRTY, messages, strict=False)]
    sections = {"enrichment": enrichment, "publish": {"max_downgraded_share": limit}}
    settings = CatalogSettings.model_validate(
        {"name": "p", "folder": Path("p"), "source": [{"path": "tools.jsonl"}], **sections}
    )
    serving = {**dict.fromkeys(_THIRTY, by), "p/gone": by}
    return lost_phrases_reasons(settings, _THIRTY, Enrichment(written=written, failures=failures), serving)


@pytest.mark.parametrize(
    ("fallen", "limit", "by", "held"),
    [
        *((0, 0.0, "openai", False), (2, 0.0, "openai", False), (3, 0.0, "openai", True), (3, 0.1, "openai", False)),
        *((4, 0.1, "openai", True), (30, 1.0, "openai", False)),
        (30, 0.1, "lexicon", False),  # what an earlier version wrote by rule is no loss
    ],
)
def test_more_lost_phrases_than_the_share_and_at_least_three_hold_back(
    fallen: int, limit: float, by: str, held: bool
) -> None:
    assert bool(_lost(fallen, limit, by)) is held


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"by": "file"}, "There is no file of expansions any more"),
        ({"by": "file", "expansions": "words.jsonl"}, "words.jsonl has no usable line for them any more"),
        ({"generator": "none"}, "enrichment.generator (--generator) is none"),
        ({"generator": "openai", "messages": ("no\n quota.", "no\n quota.", "late")}, "no quota; "),
        ({"generator": "auto"}, "No key or base URL is set"),
        ({"generator": "openai", "api_key": "sk-x"}, "The ledger has no answer about them that passes the checks"),
    ],
    ids=["no file", "file", "none", "messages", "no key", "ledger"],
)
def test_the_reason_names_the_tools_the_cause_and_the_setting(fields: dict[str, Any], cause: str) -> None:
    (reason,) = _lost(30, **fields)
    assert reason.startswith("30 of the 30 tools that a model or a file wrote for would lose their phrases: ")
    assert "p/t00, p/t01, p/t02 and 27 more" in reason and cause in reason
    assert reason.endswith("publish.max_downgraded_share (QUARTERMASTER_PUBLISH__MAX_DOWNGRADED_SHARE) allows 10.0%")


def _ids(name: str, count: int) -> list[str]:
    return [f"{name}/{number:03}" for number in range(count)]


def _removed(served: dict[str, int], kept: list[str], limit: float = 0.2, listed: bool = True) -> tuple[str, ...]:
    sources = [ServedSource(f"{name}.json", frozenset(_ids(name, count)), listed) for name, count in served.items()]
    return removal_reasons(PublishSettings(max_removed_share=limit), sources, frozenset(kept))


@pytest.mark.parametrize(
    ("served", "kept", "limit", "held"),
    [
        *((2, 0, 0.2, False), (3, 1, 0.2, False), (3, 0, 0.2, True), (10, 8, 0.2, False), (15, 12, 0.2, False)),
        *((15, 11, 0.2, True), (100, 79, 0.2, True), (9, 0, 1.0, False), (0, 0, 0.2, False)),
    ],
)
def test_more_than_a_fifth_and_at_least_three_removed_tools_hold_back(
    served: int, kept: int, limit: float, held: bool
) -> None:
    assert bool(_removed({"a": served}, _ids("a", kept), limit)) is held


@pytest.mark.parametrize(
    ("served", "kept", "listed", "reason"),
    [
        # A small source is not hidden by a large one.
        ({"a": 5, "b": 500}, _ids("b", 500), True, "the source a.json lost 5 of its 5 serving tools: a/000, a/001, "),
        # Many small losses are held in all, and each is counted once.
        (
            dict.fromkeys("abcdef", 2),
            _ids("a", 2),
            True,
            "10 of all 12 serving tools were removed: b/000, b/001, c/000, c/001, d/000 and 5 more; ",
        ),
        ({"a": 9, "b": 1}, _ids("b", 1), True, "the source a.json lost 9 of its 9 "),
        (
            {"a": 4},
            [],
            False,
            "the source a.json is no longer in the catalog and takes with it 4 of its 4 serving tools: ",
        ),
    ],
)
def test_removals_are_told_once_by_source_or_in_all_with_the_setting(
    served: dict[str, int], kept: list[str], listed: bool, reason: str
) -> None:
    (told,) = _removed(served, kept, listed=listed)
    assert told.startswith(reason)
    assert told.endswith("publish.max_removed_share (QUARTERMASTER_PUBLISH__MAX_REMOVED_SHARE) allows 20.0%")


def test_tools_belong_to_the_source_that_gave_them_and_else_to_their_origin() -> None:
    origins = {**dict.fromkeys(_ids("one", 2) + _ids("two", 2) + _ids("old", 2), "npx"), "c/0": "c.json"}
    known = [KnownSource("k1", "npx", frozenset(_ids("one", 3))), KnownSource("k2", "npx", frozenset(_ids("two", 2)))]
    sources = [SourceSettings(command=("npx", name)) for name in ("one", "two")]
    found = served_sources(origins, known, sources, ())
    assert {(one.source, one.listed, *sorted(one.tools)) for one in found} == {
        ("npx", True, *_ids("one", 2)),
        ("npx", True, *_ids("two", 2)),
        ("npx", True, *_ids("old", 2)),
        ("c.json", False, "c/0"),
    }


def test_tools_of_a_skipped_source_are_left_to_the_limit_on_skipped_sources() -> None:
    origins = {**dict.fromkeys(_ids("one", 4) + _ids("two", 4), "npx"), **dict.fromkeys(_ids("c", 4), "c.json")}
    known = [KnownSource("k1", "npx", frozenset(_ids("one", 4))), KnownSource("k2", "npx", frozenset(_ids("two", 4)))]
    gaps = [Gap("npx", "npx", "is down", key="k1"), Gap("c.json", "c.json", "is gone", key="k3")]
    (left,) = served_sources(origins, known, [SourceSettings(command=("npx",))], gaps)
    assert left.tools == frozenset(_ids("two", 4))
    empty = [Gap("npx", "npx", key="k1")]
    assert len(served_sources(origins, known, [SourceSettings(command=("npx",))], empty)) == 3
