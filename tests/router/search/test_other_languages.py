"""English requests and tools that are described in another language."""

from dataclasses import replace

import numpy as np
import pytest

from router import Router
from router.snapshot.memory import snapshot_from_records
from router.snapshot.snapshot import Snapshot
from tests.support.factories import make_record

REQUEST = "turn the picture of my invoice upside down"
RECORDS = [
    make_record("upload_invoice", "billing", description="Uploads a picture of an invoice for my accountant."),
    make_record("rotate", "images", description="将图片旋转一百八十度并返回结果图像的地址。"),
    *(make_record(f"tool_{n}", "other", description=f"Reads value {n} of a sensor.") for n in range(8)),
]
PHRASES = {"images/rotate": ("turn the picture upside down", "my photo is on its head")}


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    """Ten tools without vectors, one of them described in Chinese and with English phrases."""
    return snapshot_from_records(RECORDS, {record.tool_id: PHRASES.get(record.tool_id, ()) for record in RECORDS}, None)


def _scores(snapshot: Snapshot, request: str, *, assume: bool) -> dict[str, float]:
    router = Router(snapshot)
    routed = router.route(request, recipe=replace(router.recipe("default"), impute_non_english=assume))
    return {tool.tool_id: tool.score for tool in routed}


def test_english_phrases_count_for_the_text_that_an_english_request_cannot_match(snapshot: Snapshot) -> None:
    assert snapshot.non_english is not None and np.flatnonzero(snapshot.non_english).tolist() == [1]
    before, after = (_scores(snapshot, REQUEST, assume=assume) for assume in (False, True))
    assert after["images/rotate"] > before["images/rotate"]
    assert after["billing/upload_invoice"] == before["billing/upload_invoice"]
    tool = Router(snapshot).diagnose(REQUEST, "images/rotate").tool
    assert tool.assumed > 0
    assert tool.score == pytest.approx(sum(tool.contributions.values()))


def test_nothing_is_assumed_for_a_request_in_that_language_or_of_english_tools(snapshot: Snapshot) -> None:
    # It shares a word with the phrases of the one tool, and with the name of the other.
    request = "请把我的发票图片 invoice picture 旋转一百八十度并返回结果"
    assert _scores(snapshot, request, assume=True) == _scores(snapshot, request, assume=False)
    assert (
        snapshot_from_records([record for record in RECORDS if record.provider != "images"], {}, None).non_english
        is None
    )
