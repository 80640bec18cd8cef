"""A request of any text costs little: each expression that meets one, and what is made of it."""

import importlib
import re
import time
import unicodedata

import pytest

from router.errors import RequestInvalid
from router.query.steps import find_steps
from router.search.conversation import user_messages
from router.search.search import MAX_REQUEST, clean_request, step_depth
from router.text import terms

# How each expression is used: `match` reads from the beginning, the others from everywhere.
USES = {
    "router.query.steps": {
        "_QUOTED": "findall",
        "_SENTENCE": "findall",
        "_CLAUSE": "findall",
        "_ABBREVIATION": "search",
        "_WORD": "findall",
    },
    "router.query.intent_detection": {
        "_WORD": "findall",
        "_WISH": "match",
        "_QUESTION": "match",
        "_REQUEST_PHRASE": "search",
    },
    "router.text": {"_NOT_TEXT": "findall", "_HUMP": "findall", "_DIGITS": "findall", "_CJK": "findall"},
    "router.selection.relevance": {"_TOKEN": "findall"},
    "router.search.search": {},
    "router.search.conversation": {},
}
UNITS = [
    *("a", "A", "aA", "1", " ", "\n", "\t", ".", "'", "‘", '"', "“", "`", "(", "-", "_", "→", "漢", "\u0301", "\ufdfa"),
    *("a ", "A. ", "a.", "a-", "'a", "! ", '?" ', ", ", " - ", " -> ", " and", ", and get ", "; then ", "e.g. "),
    *("i ", "i also ", "we would ", "also, ", "please ", "could you ", "x" * 64 + " "),
]
TEXTS = [(unit * MAX_REQUEST)[:MAX_REQUEST] for unit in UNITS]
_MOST_S = 1.0  # a hundred times what any takes; quadratic time would be minutes


@pytest.mark.parametrize("module", USES)
def test_each_expression_takes_a_moment_on_any_request(module: str) -> None:
    patterns = {name: value for name, value in vars(importlib.import_module(module)).items() if _is_pattern(value)}
    assert patterns.keys() == USES[module].keys(), "say how a request meets each expression"
    for name, use in USES[module].items():
        for text in TEXTS:
            begun = time.process_time()
            getattr(patterns[name], use)(text + "\0")
            assert time.process_time() - begun < _MOST_S, f"{name} on {text[:20]!r}"


def test_steps_and_terms_of_any_request_take_a_moment() -> None:
    for text in TEXTS:
        begun = time.process_time()
        if text.strip():
            clean = clean_request(text[:8_000])
            assert len(find_steps(clean).texts) <= 8
            terms(clean)
        assert time.process_time() - begun < _MOST_S, f"{text[:20]!r}"


def test_a_request_that_grows_when_it_is_normalized_is_cut_again() -> None:
    clean = clean_request("\ufdfa" * MAX_REQUEST)  # each stands for eighteen
    assert len(clean) == len(unicodedata.normalize("NFKC", clean)) == MAX_REQUEST
    assert clean_request("Ａ") == "Ａ"  # others stay as they are


def test_a_request_nested_without_end_is_refused_with_its_place() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RequestInvalid, match=r"messages\[0\] is \[\[\[\[\[\[\[\.\.\."):
        user_messages(deep)  # type: ignore[arg-type]


def _is_pattern(value: object) -> bool:
    return isinstance(value, re.Pattern)


@pytest.mark.parametrize(
    ("depth", "expected"), [(100, 30), (101, 31), (1_000, 300), (60, 30), (30, 30), (7, 7), (1, 1)]
)
def test_a_step_has_three_tenths_of_a_list_thirty_at_least_and_never_more_than_the_request(
    depth: int, expected: int
) -> None:
    assert step_depth(depth) == expected
