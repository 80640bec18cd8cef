"""Phrases in other languages, in field documents."""

from router.tools.field_text import project_record
from tests.support.factories import make_expansion, make_record

_TRANSLATED = make_expansion("do it", translations={"de": ("mach es", "tu es"), "ja": ("やって",)})


def test_a_field_document_has_the_translations_that_the_catalog_asks_for_and_the_same_english_texts() -> None:
    documents = project_record(make_record(), _TRANSLATED, ("en", "de", "es"))
    assert documents.translations == {"de": ("mach es", "tu es")}
    assert (documents.translation("de"), documents.translation("es")) == ("mach es\ntu es", "")
    english = project_record(make_record(), make_expansion("do it"), ("en", "de", "es"))
    for field in ("name", "description", "expansion", "dense", "phrases"):
        assert getattr(documents, field) == getattr(english, field)
    assert project_record(make_record(), _TRANSLATED) == project_record(make_record(), make_expansion("do it"))
