"""Which tools of a catalog meet a need: the schema and the scores decide together."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from pipeline.learning import find_need_tools
from router.contract import IMPLICIT_NEEDS, Signal
from router.retrieval.implicit_needs import ImplicitNeedTools as NeedTools
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.snapshot import Snapshot
from router.tools.implicit_needs import ImplicitNeed as Need


def with_background(snapshot: Snapshot, deviation: float) -> Snapshot:
    """The snapshot with background scores of mean 0: a tool's standard score is its cosine over the deviation."""
    statistics = np.stack([np.zeros(len(snapshot.records)), np.full(len(snapshot.records), deviation)])
    return replace(snapshot, background_scores=BackgroundScores({Signal.DENSE: statistics.astype(np.float32)}))


def ids(snapshot: Snapshot, needs: NeedTools) -> dict[Need, set[str]]:
    return {need: {snapshot.records.tool_id(tool.ordinal) for tool in of} for need, of in needs.tools.items()}


def test_of_tools_whose_scores_are_high_enough_the_schemas_decide(snapshot: Path) -> None:
    # Only Slack's chat_postMessage takes a channel and a text. Cosines are at most 1, so 1e-3 puts all of them, where
    # they are not near 0, beyond the threshold, and 1 none.
    opened = Snapshot.open(snapshot)
    found = ids(opened, find_need_tools(with_background(opened, 1e-3)))
    assert found[Need.SEND_MESSAGE] == found[Need.SEND_MAIL] == {"slack/chat_postMessage"}
    assert set(found) <= {
        Need.SEND_MESSAGE,
        Need.SEND_MAIL,
        Need.CURRENT_TIME,
        Need.CURRENT_USER,
    }
    assert find_need_tools(with_background(opened, 1.0)) == NeedTools()


def test_without_background_scores_the_words_decide(snapshot: Path) -> None:
    # "chat_postMessage: Sends a message to a channel" has all terms of "post a message to a channel".
    opened = replace(Snapshot.open(snapshot), background_scores=None)
    assert ids(opened, find_need_tools(opened)) == {Need.SEND_MESSAGE: {"slack/chat_postMessage"}}
    built = Snapshot.open(snapshot)  # as the build wrote it, with background scores
    assert IMPLICIT_NEEDS in built.manifest.files
    assert ids(built, built.implicit_needs) == {Need.SEND_MESSAGE: {"slack/chat_postMessage"}}
