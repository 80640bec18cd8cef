"""Expansions from generators' answers."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.enrichment import Expansion
from tests.support.factories import make_expansion

_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories")
# Half surrogates among the characters: JSON can escape them. Some texts are past every bound.
_TEXTS = st.builds(lambda text, times: text * times, st.text(st.characters(exclude_categories=())), st.integers(1, 90))
_ROWS = st.fixed_dictionaries(
    {"user_phrases": st.lists(_TEXTS, max_size=20)},
    optional={"when_to_use": _TEXTS, **{field: st.lists(_TEXTS, max_size=30) for field in _LISTS[1:]}},
)


def _row(**fields: Any) -> dict[str, Any]:
    return {"when_to_use": "Use it.", "user_phrases": ["do it"], **fields}


def test_every_text_becomes_one_trimmed_line() -> None:
    expansion = Expansion.from_json(_row(when_to_use=" When\n\nit  rains. ", user_phrases=["  will it\train\n"]))
    assert expansion == Expansion("When it rains.", ("will it rain",))


def test_repeats_are_dropped_whatever_their_case_and_the_first_is_kept() -> None:
    row = _row(user_phrases=["Open Tickets", "open  tickets", "bugs"], synonyms=["Straße", "STRASSE"])
    expansion = Expansion.from_json(row)
    assert expansion.user_phrases == ("Open Tickets", "bugs")
    assert expansion.synonyms == ("Straße",)


def test_blank_texts_are_dropped() -> None:
    assert Expansion.from_json(_row(user_phrases=["", " \n", "do it"])).user_phrases == ("do it",)


@pytest.mark.parametrize(("field", "limit"), [("user_phrases", 12), *((field, 24) for field in _LISTS[1:])])
def test_a_list_is_bounded_and_keeps_its_first_texts(field: str, limit: int) -> None:
    texts = [f"text {number}" for number in range(100)]
    assert getattr(Expansion.from_json(_row(**{field: texts})), field) == tuple(texts[:limit])


def test_a_text_is_cut_at_200_characters_and_when_to_use_at_600() -> None:
    expansion = Expansion.from_json(_row(when_to_use="w" * 5_000, user_phrases=["p" * 5_000]))
    assert expansion == Expansion("w" * 600, ("p" * 200,))


def test_a_cut_between_two_words_leaves_no_space_at_the_end() -> None:
    expansion = Expansion.from_json(_row(when_to_use="w" * 599 + " then", user_phrases=["p" * 199 + " then"]))
    assert expansion == Expansion("w" * 599, ("p" * 199,))


@pytest.mark.parametrize("field", ["when_to_use", *_LISTS[1:]])
def test_a_field_other_than_the_phrases_may_be_missing_or_null(field: str) -> None:
    missing, null = _row(), _row(**{field: None})
    missing.pop(field, None)
    assert not getattr(Expansion.from_json(missing), field)
    assert not getattr(Expansion.from_json(null), field)


def test_fields_that_nobody_asked_for_are_ignored() -> None:
    assert Expansion.from_json(_row(confidence=0.9, id="a/b")) == Expansion("Use it.", ("do it",))


@pytest.mark.parametrize("row", [None, "a phrase", 3, ["a phrase"], [{"user_phrases": ["a"]}]])
def test_what_is_no_object_is_refused(row: object) -> None:
    with pytest.raises(ValueError, match="not an object"):
        Expansion.from_json(row)


@pytest.mark.parametrize("field", _LISTS)
@pytest.mark.parametrize("value", ["a phrase", {"a": "phrase"}, 7, ["a phrase", 7], [["a phrase"]], [None]])
def test_a_list_of_the_wrong_shape_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{field} is not a list of texts"):
        Expansion.from_json(_row(**{field: value}))


@pytest.mark.parametrize("value", [["When it rains."], {"when": "it rains"}, 7])
def test_a_when_to_use_of_the_wrong_shape_is_refused_by_name(value: object) -> None:
    with pytest.raises(ValueError, match="when_to_use is not a text"):
        Expansion.from_json(_row(when_to_use=value))


@pytest.mark.parametrize("phrases", [[], None, ["", "  "]])
def test_an_expansion_without_a_phrase_is_refused(phrases: object) -> None:
    with pytest.raises(ValueError, match="user_phrases holds no phrase"):
        Expansion.from_json(_row(user_phrases=phrases))


def test_half_of_a_surrogate_pair_is_replaced_for_it_cannot_be_stored() -> None:
    assert Expansion.from_json(_row(user_phrases=["smile \ud83d now"])).user_phrases == ("smile ? now",)


def test_an_expansion_survives_json() -> None:
    expansion = make_expansion("pull payments", "顧客情報", synonyms=("a", "b"), task_categories=("finance",))
    assert Expansion.from_json(json.loads(json.dumps(expansion.to_json()))) == expansion


@given(_ROWS)
def test_any_row_is_refused_or_cleaned_to_an_expansion_that_round_trips_within_bounds(row: dict[str, Any]) -> None:
    try:
        expansion = Expansion.from_json(row)
    except ValueError:
        assert not any(text.strip() for text in row["user_phrases"])
        return
    assert Expansion.from_json(json.loads(json.dumps(expansion.to_json()))) == expansion
    texts = [text for field in _LISTS for text in getattr(expansion, field)]
    assert all(0 < len(text) <= 200 and text == " ".join(text.split()) for text in texts)
    assert len(texts) <= 12 + 3 * 24
    "\n".join([expansion.when_to_use, *texts]).encode("utf-8")
