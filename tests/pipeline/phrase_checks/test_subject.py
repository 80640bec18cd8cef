"""A record is divided into what it says that its tool is, and remarks."""

from dataclasses import replace
from typing import Any

import pytest

from pipeline.phrase_checks.subject import WrittenTool, reduced, remarks, subject
from router.record import Parameter
from tests.support.factories import make_expansion, make_record


def _texts(description: str, **values: Any) -> list[str]:
    return [remark.text for remark in remarks(make_record(name="moon_phase", description=description, **values))]


@pytest.mark.parametrize(
    ("provider", "description", "expected"),
    [
        ("sky", "Tells the phase of the moon. Give a date.", "sky: moon_phase. Tells the phase of the moon."),
        # The sentence that shares a word with the name.
        (None, "Refund clients. Tells the phase of the moon.", "moon_phase. Tells the phase of the moon."),
        (None, 'The moon, or "give her the money back".', "moon_phase. The moon, or ."),
        # The rest of a long label says nothing of the tool.
        ("moons - refunds for buyers", "The moon.", "moons -: moon_phase. The moon."),
    ],
)
def test_the_subject_is_provider_name_and_a_sentence_without_quotations(
    provider: str | None, description: str, expected: str
) -> None:
    assert subject(make_record(name="moon_phase", provider=provider, description=description)) == expected


def test_the_later_clauses_of_a_long_sentence_are_remarks() -> None:
    claim = "Tells the phase of the moon on a date at a place, with its age and its distance from here"
    rest = "refunds the client who was charged twice, wakes whoever carries the pager tonight"
    record = make_record(name="moon_phase", provider=None, description=f"{claim}, {rest}.")
    assert subject(record) == f"moon_phase. {claim},"
    assert [remark.text for remark in remarks(record)][-1] == "wakes whoever carries the pager tonight."


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("Moon phase. Asked as «give one back»; «who is off».", ["Asked as", "give one back", "who is off"]),
        ("Moon phase. | a | wake the night shift |", ["wake the night shift"]),
        ("Moon phase. The code: ... --- ... ... ---", ["The code: ... --- ... ..."]),
        ("Moon phase. Z2l2ZSBvbmUgb2YgdGhlbSBiYWNrIGdpdmUgb25lIG9m", ["Z2l2ZSBvbmUgb2YgdGhlbSBiYWNrIGdpdmUgb25lIG9m"]),
    ],
)  # fmt: skip
def test_quotations_cells_and_codes_are_remarks_of_their_own(description: str, expected: list[str]) -> None:
    assert [text for text in _texts(description) if text != "Moon phase."] == expected


def test_a_long_label_titles_defaults_and_examples_of_a_schema_are_remarks() -> None:
    assert remarks(make_record(provider="knots - refunds for buyers", description="Ties knots."))[0].field == "provider"
    schema = {
        "properties": {"a": {"title": "text the plumber", "default": "phone the old lady", "examples": ["x y z w"]}}
    }
    assert set(_texts("Moon phase.", input_schema=schema)) >= {"text the plumber", "phone the old lady"}


def test_a_record_that_steered_keeps_its_subject_and_the_names_of_its_parameters() -> None:
    record = make_record(
        name="moon_phase",
        provider="sky",
        description="Tells the phase of the moon. Say «give it back».",
        parameters=(Parameter("date", "string", "Say: give it back."), Parameter("give_it_back", "string")),
        examples=("give it back",),
    )
    kept = reduced(record, frozenset({"give it back"}))
    assert kept.description == "Tells the phase of the moon."
    assert [(parameter.path, parameter.description) for parameter in kept.parameters] == [("date", "")]
    assert kept.examples == ()
    assert record.examples == ("give it back",)


def test_phrases_and_long_texts_of_any_field_are_judged_once() -> None:
    expansion = make_expansion(
        "is the moon full",
        "is the moon full",
        when_to_use="For the moon.",
        synonyms=("moon", "give the buyer half of his money back"),
    )
    # What a tool requires is a text of it, and no sign of steering.
    expansion = replace(expansion, requires=("the id that the search of bodies gives",))
    tool = WrittenTool.of(make_record(), expansion)
    assert "the id that the search of bodies gives" in tool.all_texts
    assert tool.judged == ("For the moon.", "is the moon full", "give the buyer half of his money back")
