"""Answers that say the same about many tools are found in any language; honest ones never."""

import json
from pathlib import Path

import pytest

from pipeline.enrichment.repeated_answers import RepeatedAnswers
from tests.support.factories import make_expansion, make_record

_DEMO = Path(__file__).parents[3] / "catalogs" / "demo" / "expansions.jsonl"
_HONEST = {row["id"]: row["user_phrases"] for row in map(json.loads, _DEMO.read_text(encoding="utf-8").splitlines())}


def _found(answers: dict[str, list[str]]) -> set[str]:
    repeated = RepeatedAnswers()
    for tool_id, phrases in answers.items():
        words = tool_id.replace("/", " ").replace("_", " ")
        repeated.add(tool_id, make_record(words, description=""), make_expansion(*phrases))
    return set(repeated.found())


def test_no_honest_answer_is_found() -> None:
    assert len(_HONEST) > 200
    assert _found(_HONEST) == set()


@pytest.mark.parametrize(
    "wording",
    [
        "I'm sorry, but I can't assist with that.",
        "Sorry, I cannot help you with {} at the moment.",
        "Lo siento, pero no puedo ayudarte con {}.",
        "申し訳ありませんが、{}についてはお手伝いできません。",
        "عذرًا، لا يمكنني المساعدة في {} الآن",
        "order a large pizza with mushrooms",
    ],
)
@pytest.mark.parametrize("bad", [3, 40])
def test_what_is_written_of_many_tools_is_found_among_honest_answers(wording: str, bad: int) -> None:
    tools = [*_HONEST][:100]
    same = {tool: [wording.format(tool.rpartition("/")[2].replace("_", " "))] for tool in tools[:bad]}
    found = _found({**{tool: _HONEST[tool] for tool in tools}, **same})
    assert found <= same.keys() and len(found) >= 0.9 * bad


def test_what_the_records_say_themselves_may_be_repeated() -> None:
    assert _found({f"invoice_{number}": ["show me the invoice", "send the invoice"] for number in range(30)}) == set()
