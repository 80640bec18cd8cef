"""Expansions from generators' answers: cleaned and bounded, translations and requirements included."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.expansion import Expansion
from router.fingerprint import fingerprint
from router.tools.field_text import project_record
from tests.support.factories import make_expansion, make_record

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


_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories")
# Half surrogates among the characters: JSON can escape them. Some texts are past every bound.
_TEXTS = st.builds(lambda text, times: text * times, st.text(st.characters(exclude_categories=())), st.integers(1, 90))
_ROWS = st.fixed_dictionaries(
    {"user_phrases": st.lists(_TEXTS, max_size=20)},
    optional={"when_to_use": _TEXTS, **{field: st.lists(_TEXTS, max_size=30) for field in _LISTS[1:]}},
)


def _read(**fields: Any) -> Expansion:
    return Expansion.from_json({"when_to_use": "Use it.", "user_phrases": ["do it"], **fields})


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (["  will it\train\n"], ("will it rain",)),
        (["Open Tickets", "open  tickets", "bugs"], ("Open Tickets", "bugs")),
        (["Straße", "STRASSE"], ("Straße",)),
        (["", " \n", "do it"], ("do it",)),
        (["p" * 5_000], ("p" * 200,)),
        (["p" * 199 + " then"], ("p" * 199,)),
        (["smile \ud83d now"], ("smile ? now",)),  # half of a surrogate pair cannot be stored
        ([str(number) for number in range(100)], tuple(str(number) for number in range(12))),
    ],
    ids="one-line repeat casefold blank long cut-at-a-space surrogate many".split(),
)
def test_phrases_are_cleaned_and_bounded(said: list[str], kept: tuple[str, ...]) -> None:
    assert _read(user_phrases=said).user_phrases == kept
    assert _read(translations={"de": said}).translations["de"] == kept


def test_when_to_use_has_600_characters_and_the_other_lists_24_texts() -> None:
    assert _read(when_to_use=" When\n\nit  rains. ").when_to_use == "When it rains."
    assert _read(when_to_use="w" * 599 + " then").when_to_use == "w" * 599
    for field in _LISTS[1:]:
        assert getattr(_read(**{field: [str(number) for number in range(100)]}), field)[-1] == "23"


def test_a_field_other_than_the_phrases_may_be_missing_null_or_unknown() -> None:
    nothing = dict.fromkeys(("when_to_use", "translations", *_LISTS[1:]))
    bare = Expansion.from_json({"user_phrases": ["do it"], "confidence": 0.9, "id": "a/b"})
    assert bare == _read(**nothing) == _read(when_to_use="", translations={"de": ["  "]}) == Expansion("", ("do it",))
    assert "translations" not in bare.to_json()


_NO_LISTS = ["a phrase", {"a": "phrase"}, 7, ["a phrase", 7], [["a phrase"]], [None]]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        *(
            ({field: value}, f"{field} is not a list of texts")
            for field in (*_LISTS, "requires", "provides")
            for value in _NO_LISTS
        ),
        *(({"when_to_use": value}, "when_to_use is not a text") for value in (["When it rains."], {"when": 1}, 7)),
        *(({"user_phrases": value}, "user_phrases holds no phrase") for value in ([], None, ["", "  "])),
        *(({"translations": value}, "translations is not an object of languages") for value in (["mach es"], "tu es")),
        *(({"translations": {"de": value}}, "translations.de is not a list of texts") for value in ("tu es", [None])),
        *(({"translations": {code: ["x"]}}, f"{code!r} is not one of the languages ar") for code in ("tlh", "German")),
        ({"translations": {7: ["mach es"]}}, "7 is not one of the languages ar"),
        ({"translations": {"en": ["do it"]}}, r"translations\.en is not a translation"),
    ],
)
def test_a_field_of_the_wrong_shape_is_refused_by_name(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        _read(**fields)


@pytest.mark.parametrize("row", [None, "a phrase", 3, ["a phrase"], [{"user_phrases": ["a"]}]])
def test_what_is_no_object_is_refused(row: object) -> None:
    with pytest.raises(ValueError, match="not an object"):
        Expansion.from_json(row)


def test_an_expansion_survives_json_with_its_translations_in_the_order_of_their_codes() -> None:
    expansion = make_expansion(
        "顧客情報", synonyms=("a",), translations={"ja": ("やって",), "de": ("mach es", "tu es")}
    )
    row = json.loads(json.dumps(expansion.to_json()))
    assert Expansion.from_json(row) == expansion
    assert list(Expansion.from_json(row).translations) == ["de", "ja"]


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
