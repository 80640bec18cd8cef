"""What keeps a snapshot from serving."""

from pathlib import Path

import pytest

from pipeline.build_state import MissingTools
from pipeline.enrichment import Enrichment, Expansion, GenerationFailure, ScreenedExpansion
from pipeline.publish.gates import hold_reasons, use_command
from pipeline.records import catalog_records
from pipeline.settings import PublishSettings
from pipeline.sources import Gap
from tests.support.factories import make_raw

_CATALOG = catalog_records(make_raw(f"t{number}") for number in range(10))
_IDS = [record.tool_id for record in _CATALOG.records]


def _after(*failures: tuple[str, str], by: str = "lexicon") -> Enrichment:
    """Ten tools, of which these failed; `by` wrote what serves instead."""
    words = Expansion("", ("do it",))
    written = {tool_id: ScreenedExpansion(words, by, "m", "k", words) for tool_id, _ in failures}
    return Enrichment(written=written, failures=[GenerationFailure(tool_id, kind, "why") for tool_id, kind in failures])


def _held(enrichment: Enrichment, rejected: int = 0, **limits: float) -> tuple[str, ...]:
    return hold_reasons(PublishSettings(**limits), _CATALOG, 10, rejected, enrichment, MissingTools())


def test_two_failures_in_ten_pass_and_a_third_holds_back_and_names_the_setting() -> None:
    failures = [(tool_id, "timeout") for tool_id in _IDS[:3]]
    assert _held(_after(*failures[:2])) == ()
    (reason,) = _held(_after(*failures))
    assert "enrichment failed for 30.0% of the tools" in reason
    assert "publish.max_failed_share (QUARTERMASTER_PUBLISH__MAX_FAILED_SHARE) allows 20.0%" in reason


def test_a_tool_that_another_model_answered_for_is_no_failure() -> None:
    assert _held(_after(*((tool_id, "timeout") for tool_id in _IDS), by="file")) == ()


@pytest.mark.parametrize("kind", ["budget", "waiting"])
def test_what_is_left_to_a_later_build_holds_back_only_where_settings_say_so(kind: str) -> None:
    left = _after(*((tool_id, kind) for tool_id in _IDS))
    assert _held(left) == ()
    (reason,) = _held(left, max_postponed_share=0.5)
    assert "100.0% of the tools were not asked about yet" in reason and "max_postponed_share" in reason


def test_rejected_records_are_counted_among_all_that_were_read() -> None:
    assert _held(_after(), rejected=1, max_rejected_share=0.1) == ()
    (reason,) = _held(_after(), rejected=2, max_rejected_share=0.1)  # 2 of 12
    assert "16.7% of the records were rejected" in reason


def _without(skipped: int, sources: int, lost: int = 0, serving: int = 0) -> tuple[str, ...]:
    gaps = (Gap("a.json", "a.json", "is gone", lost), *(Gap(f"{n}.json", f"{n}.json", "is gone") for n in range(99)))
    missing = MissingTools((*gaps[:skipped], Gap("empty.json", "empty.json")), sources, serving)
    return hold_reasons(PublishSettings(), _CATALOG, 10, 0, _after(), missing)


def test_one_source_of_five_may_be_skipped_and_two_hold_back() -> None:
    assert _without(1, 5) == ()
    (reason,) = _without(2, 5)
    assert reason.startswith("40.0% of the sources were skipped; publish.max_skipped_share (QUARTERMASTER_PUBLISH__")


def test_one_source_of_fifty_that_most_serving_tools_came_from_holds_back() -> None:
    assert _without(1, 50, lost=20, serving=100) == ()
    (reason,) = _without(1, 50, lost=21, serving=100)
    assert reason.startswith("21.0% of the serving tools came from skipped sources; publish.max_skipped_share")


def test_sources_that_are_merely_empty_hold_nothing_back() -> None:
    assert _without(0, 1) == ()


@pytest.mark.parametrize(
    ("workspace", "place"),
    [(".quartermaster", ""), ("/srv/work", " --workspace /srv/work"), ("my work", " --workspace 'my work'")],
)
def test_the_command_that_serves_a_held_snapshot_names_a_workspace_of_its_own(workspace: str, place: str) -> None:
    command = use_command(Path(workspace) / "snapshots" / "office" / "20261123T020009Z-08b8012b")
    assert command == f"quartermaster snapshots office --use 20261123T020009Z-08b8012b{place}"
