"""Which losses of a model's or a file's words hold a snapshot back, and the likely cause."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import Enrichment, Expansion, GenerationFailure, ScreenedExpansion
from pipeline.publish.gates import lost_phrases_reasons
from pipeline.settings import CatalogSettings

_IDS = [f"p/t{number:02}" for number in range(30)]
_WORDS = Expansion("", ("do it",))


def _reasons(
    fallen: int, limit: float = 0.1, by: str = "openai", messages: tuple[str, ...] = (), **enrichment: Any
) -> tuple[str, ...]:
    """The reasons where the first tools fall to the lexicon, or, the very first, to nothing."""
    now = {tool_id: "lexicon" if place < fallen else by for place, tool_id in enumerate(_IDS)}
    written = {tool_id: ScreenedExpansion(_WORDS, name, "m", "k", _WORDS) for tool_id, name in now.items()}
    written.pop(_IDS[0], None) if fallen else None
    failures = [GenerationFailure(tool_id, "timeout", text) for tool_id, text in zip(_IDS, messages, strict=False)]
    settings = CatalogSettings.model_validate(
        {
            "name": "p",
            "folder": Path("p"),
            "source": [{"path": "tools.jsonl"}],
            "enrichment": enrichment,
            "publish": {"max_downgraded_share": limit},
        }
    )
    serving = {**dict.fromkeys(_IDS, by), "p/gone": by}
    return lost_phrases_reasons(settings, _IDS, Enrichment(written=written, failures=failures), serving)


@pytest.mark.parametrize(
    ("fallen", "limit", "held"),
    [(0, 0.0, False), (2, 0.0, False), (3, 0.0, True), (3, 0.1, False), (4, 0.1, True), (30, 1.0, False)],
)
def test_more_than_the_share_and_at_least_three_tools_hold_back(fallen: int, limit: float, held: bool) -> None:
    assert bool(_reasons(fallen, limit)) is held


def test_what_the_lexicon_wrote_before_cannot_fall() -> None:
    assert _reasons(30, by="lexicon") == ()


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"by": "file"}, "There is no file of expansions any more"),
        ({"by": "file", "expansions": "words.jsonl"}, "words.jsonl has no usable line for them any more"),
        ({"generator": "lexicon"}, "enrichment.generator (--generator) is lexicon"),
        ({"generator": "openai", "messages": ("no\n quota.", "no\n quota.", "late")}, "no quota; "),
        ({"generator": "auto"}, "No key or base URL is set"),
        ({"generator": "openai", "api_key": "sk-x"}, "The ledger has no answer about them that passes the checks"),
    ],
    ids=["no file", "file", "lexicon", "messages", "no key", "ledger"],
)
def test_the_reason_names_the_tools_the_cause_and_the_setting(fields: dict[str, Any], cause: str) -> None:
    (reason,) = _reasons(30, **fields)
    assert reason.startswith("30 of the 30 tools that a model or a file wrote for would fall to the lexicon's words ")
    assert "p/t00, p/t01, p/t02 and 27 more" in reason and cause in reason
    assert reason.endswith("publish.max_downgraded_share (QUARTERMASTER_PUBLISH__MAX_DOWNGRADED_SHARE) allows 10.0%")
