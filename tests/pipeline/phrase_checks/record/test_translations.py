"""Phrases in other languages, in generators' answers and in field documents."""

import json
from typing import Any

import pytest

from router.expansion import Expansion
from router.tools.field_text import project_record
from tests.support.factories import make_expansion, make_record

_TRANSLATED = make_expansion("do it", translations={"de": ("mach es", "tu es"), "ja": ("やって",)})


def _row(translations: Any) -> dict[str, Any]:
    return {"user_phrases": ["do it"], "translations": translations}


def test_translations_survive_json() -> None:
    row = json.loads(json.dumps(_TRANSLATED.to_json()))
    assert row["translations"] == {"de": ["mach es", "tu es"], "ja": ["やって"]}
    assert Expansion.from_json(row) == _TRANSLATED


@pytest.mark.parametrize("value", [None, {}, {"de": []}, {"de": None}, {"de": ["  "]}])
def test_without_translations_an_answer_is_as_it_was_before_there_were_any(value: Any) -> None:
    expansion = Expansion.from_json(_row(value))
    assert expansion == Expansion("", ("do it",))
    assert list(expansion.to_json()) == [
        "when_to_use",
        "user_phrases",
        "synonyms",
        "related_concepts",
        "task_categories",
    ]


def test_translations_are_cleaned_and_bounded_as_phrases_are_and_ordered_by_code() -> None:
    row = _row({"ja": ["  一つ\n二つ "], "de": ["Mach es", "mach  ES", "", "x" * 5_000, *map(str, range(20))]})
    expansion = Expansion.from_json(row)
    assert list(expansion.translations) == ["de", "ja"]
    assert expansion.translations["ja"] == ("一つ 二つ",)
    assert expansion.translations["de"] == ("Mach es", "x" * 200, *map(str, range(10)))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (["mach es"], "translations is not an object of languages"),
        ("mach es", "translations is not an object of languages"),
        ({"de": "mach es"}, "translations.de is not a list of texts"),
        ({"de": [["mach es"]]}, "translations.de is not a list of texts"),
        ({"de": [None]}, "translations.de is not a list of texts"),
        ({"tlh": ["Qapla'"]}, "translations: 'tlh' is not one of the languages ar bg"),
        ({"German": ["mach es"]}, "translations: 'German' is not one of the languages ar bg"),
        ({7: ["mach es"]}, "translations: 7 is not one of the languages ar bg"),
        ({"en": ["do it"]}, r"translations\.en is not a translation: English phrases belong in user_phrases"),
    ],
)
def test_translations_of_the_wrong_shape_are_refused_by_name(value: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Expansion.from_json(_row(value))


def test_a_field_document_has_the_translations_that_the_catalog_asks_for() -> None:
    documents = project_record(make_record(), _TRANSLATED, ("en", "de", "es"))
    assert documents.translations == {"de": ("mach es", "tu es")}
    assert (documents.translation("de"), documents.translation("es")) == ("mach es\ntu es", "")


def test_translations_change_no_text_that_english_is_indexed_or_encoded_by() -> None:
    english = make_expansion("do it")
    with_them, without = (project_record(make_record(), e, ("en", "de", "ja")) for e in (_TRANSLATED, english))
    for field in ("name", "description", "expansion", "dense", "phrases"):
        assert getattr(with_them, field) == getattr(without, field)
    assert project_record(make_record(), _TRANSLATED) == project_record(make_record(), english)
