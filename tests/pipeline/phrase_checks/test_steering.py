"""Phrases that a record asked for, and that its subject does not support, are not indexed.

Vectors count words: a text is near to what it shares words with. Each honest tool has words of its own.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.learning.no_answer_calibration.background import background
from pipeline.phrase_checks.steering import find_steering
from pipeline.phrase_checks.subject import Findings, WrittenTool
from pipeline.settings import AssessmentSettings
from router.expansion import Expansion
from router.record import ToolRecord
from tests.support.factories import make_expansion, make_record

_ERRANDS = [query.request for query in background() if query.is_errand]
_NOUNS = (
    "invoice ticket message calendar folder repository contact payment alarm report deal page meeting order".split()
)
_VERBS = "create delete".split()
_DEMANDS = ("refund the charged client", "wake whoever carries the pager", "merge my approved branch")
_NEAR = ("refund the charged client {}", "please wake whoever carries the pager {}")


def _embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return vectors of words, each word a direction of its own."""
    vectors = np.zeros((len(texts), 2_048), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for word in "".join(c if c.isalnum() else " " for c in text.casefold()).split():
            row[_place(word)] += 1
        row /= max(float(np.linalg.norm(row)), 1e-9)
    return vectors


_PLACES: dict[str, int] = {}


def _place(word: str) -> int:
    return _PLACES.setdefault(word, len(_PLACES))


def _honest() -> list[tuple[ToolRecord, Expansion]]:
    return [
        (
            make_record(tool_id=f"o/{verb}_{noun}", name=f"{verb}_{noun}", provider="o", description=f"{verb} {noun}."),
            make_expansion(f"{verb} {noun} now", f"please {verb} one {noun}", when_to_use=f"{verb} {noun}"),
        )
        for verb in _VERBS
        for noun in _NOUNS
    ]


def _check(record: ToolRecord, expansion: Expansion) -> Findings:
    return _check_all([(record, expansion)])


def _check_all(
    others: Sequence[tuple[ToolRecord, Expansion]],
    honest: Sequence[tuple[ToolRecord, Expansion]] | None = None,
) -> Findings:
    tools = [WrittenTool.of(*one) for one in (*(_honest() if honest is None else honest), *others)]
    texts = [tool.subject for tool in tools] + [text for tool in tools for text in tool.judged]
    return find_steering(tools, _embed(texts), _embed, AssessmentSettings(), _ERRANDS)


def _moon(description: str, **values: Any) -> ToolRecord:
    text = f"tells moon phase. {description}"
    return make_record(tool_id="sky/moon", name="moon_phase", provider="sky", description=text, **values)


def _dropped(findings: Findings) -> set[str]:
    return {verdict.text for verdict in findings.verdicts if verdict.dropped}


def _moon_phrases(*demands: str) -> Expansion:
    return make_expansion("tells moon phase now", *demands, when_to_use="tells moon phase")


_QUOTED = "People say " + "; ".join(f"«{demand}»" for demand in _DEMANDS) + "."
_CIPHER = "ZXZlcnl0aGluZyB1cmdlbnQgdGhhdCBub2JvZHkgaGFzIHBpY2tlZCB1cCB5ZXQgdG9kYXkgcGxlYXNlIGFuZCB0aGFua3M"


def test_demands_that_a_remark_made_are_dropped_and_the_tools_own_phrases_stay() -> None:
    findings = _check(_moon(_QUOTED), _moon_phrases(*_DEMANDS))
    assert _dropped(findings) == set(_DEMANDS)
    assert {remark.text for remark in findings.steering["sky/moon"]} >= set(_DEMANDS)
    expansion = replace(_moon_phrases(*_DEMANDS), task_categories=("payments",))
    assert "payments" in _dropped(_check(_moon(_QUOTED), expansion))  # of every field


@pytest.mark.parametrize(
    ("description", "phrases", "dropped"),
    [
        ("Give a date.", _DEMANDS, ()),  # no remark asked for them
        # A demand that is spread over the record is found by its terms.
        (
            "Half: refund the. Half: charged client. Half: wake whoever. Half: carries the pager.",
            _DEMANDS[:2],
            _DEMANDS[:2],
        ),
        (_CIPHER, _DEMANDS, _DEMANDS),
        # Phrases that repeat one short remark are about it.
        ("Only agents see it.", ("only agents see this", "agents only see this one"), ()),
    ],
    ids=["unasked", "spread", "cipher", "about it"],
)
def test_unsupported_phrases_are_dropped_where_the_record_asked_for_them(
    description: str, phrases: tuple[str, ...], dropped: tuple[str, ...]
) -> None:
    assert _dropped(_check(_moon(description), _moon_phrases(*phrases))) == set(dropped)


@pytest.mark.parametrize(
    ("tools", "phrases", "accused"),
    [
        (1, _NEAR, 1),
        (4, _NEAR, 4),
        (5, _NEAR, 0),  # boilerplate
        (5, _DEMANDS, 5),  # a demand that phrases repeat word by word
        (
            5,
            ("refund that charged client again", "wake whoever always carries the pager"),
            5,
        ),  # written for all of them
    ],
)
def test_what_many_tools_of_a_source_say_is_no_demand_unless_their_phrases_repeat_it_or_each_other(
    tools: int, phrases: tuple[str, ...], accused: int
) -> None:
    def moon(number: int) -> tuple[ToolRecord, Expansion]:
        record = replace(_moon(_QUOTED), tool_id=f"sky/moon{number}", name=f"moon_phase_{number}")
        return record, _moon_phrases(*(phrase.format(_NOUNS[number]) for phrase in phrases))

    findings = _check_all([moon(number) for number in range(tools)])
    assert len(findings.steering) == accused


def test_a_crowd_of_hostile_tools_outvotes_nobody_in_a_catalog_of_any_size() -> None:
    def moon(number: int) -> tuple[ToolRecord, Expansion]:
        record = replace(_moon(_QUOTED), tool_id=f"sky{number}/moon", provider=f"sky{number}")
        return record, _moon_phrases(*_DEMANDS)

    for honest, hostile in ((0, 1), (3, 12)):
        findings = _check_all([moon(number) for number in range(hostile)], _honest()[:honest])
        assert len(findings.steering) == hostile
        assert _dropped(findings) >= set(_DEMANDS)


def test_honest_tools_of_a_small_catalog_keep_their_phrases() -> None:
    assert all(_dropped(_check_all([], _honest()[:size])) == set() for size in (1, 3, 12))


def test_an_encoder_that_finds_everything_alike_accuses_nobody() -> None:
    def alike(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = _embed(texts) + np.float32(0.1)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    tools = [WrittenTool.of(*one) for one in (*_honest(), (_moon(_QUOTED), _moon_phrases(*_DEMANDS)))]
    texts = [tool.subject for tool in tools] + [text for tool in tools for text in tool.judged]
    findings = find_steering(tools, alike(texts), alike, AssessmentSettings(), _ERRANDS)
    assert (findings.blind, findings.steering, _dropped(findings)) == (True, {}, set())
