"""The expansion: what a tool requires and provides, which no search reads."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.tools.field_text import project_record
from tests.support.factories import make_record

PLAIN = Expansion("When somebody pays.", ("pay it",), ("settle",), ("bill",), ("money",), {"de": ("zahl es",)})
FULL = replace(PLAIN, requires=("the customer's id",), provides=("a receipt's number",))
TEXTS = st.lists(st.text(max_size=12), max_size=9)


def test_what_a_tool_requires_and_provides_comes_back_and_changes_no_earlier_hash_and_no_search() -> None:
    assert fingerprint(PLAIN.to_json()) == "68d38eb82ca2f555b19cd18354a3cbad0528c353d15e0bed9d569da12f938f61"
    assert Expansion.from_json(FULL.to_json()) == FULL
    assert Expansion.from_json({**PLAIN.to_json(), "requires": None}) == PLAIN
    assert project_record(make_record(), FULL, ["de"]) == project_record(make_record(), PLAIN, ["de"])


@given(TEXTS, TEXTS)
def test_there_are_at_most_six_of_each_in_one_line_without_repeats(requires: list[str], provides: list[str]) -> None:
    read = Expansion.from_json({"user_phrases": ["pay it", "Pay it"], "requires": requires, "provides": provides})
    assert read.user_phrases == ("pay it",)
    for texts in (read.requires, read.provides):
        assert len(texts) <= 6 and len({text.casefold() for text in texts}) == len(texts)
        assert all(text and text == " ".join(text.split()) for text in texts)
    assert Expansion.from_json(read.to_json()) == read


@pytest.mark.parametrize("name", ["requires", "provides"])
def test_a_value_that_is_no_list_of_texts_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is not a list of texts"):
        Expansion.from_json({"user_phrases": ["pay it"], name: "the id"})
