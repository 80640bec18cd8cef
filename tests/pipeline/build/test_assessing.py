"""What an assessment found is kept in the ledger, and taken out of expansions of every field."""

import json

from pipeline.build.assessing import Assessed, leave_out
from pipeline.enrichment import Enrichment
from pipeline.enrichment.context import ScreenedExpansion
from pipeline.enrichment.verdict import Consequence, TextVerdict
from pipeline.phrase_checks.record_steering import Remark
from tests.support.factories import make_expansion


def _verdict(field: str, text: str, consequence: Consequence = Consequence.DROPPED) -> TextVerdict:
    return TextVerdict("sky/moon", field, text, "steered", consequence, "say «refund»")


def _found(*verdicts: TextVerdict) -> Assessed:
    return Assessed(verdicts, {"sky/moon": ("sky/sun",)}, {"sky/moon": (Remark("description", "say refund"),)})


def _enrichment() -> Enrichment:
    expansion = make_expansion(
        "is the moon full",
        "refund the client",
        when_to_use="For refunds.",
        synonyms=("moon", "refund"),
        translations={"de": ("ist Vollmond", "erstatte es"), "fr": ("rembourse",)},
    )
    return Enrichment({"sky/moon": ScreenedExpansion(expansion, "openai", "m", "key", expansion)})


def test_an_assessment_is_the_same_after_the_ledger_has_kept_it() -> None:
    found = _found(_verdict("user_phrases", "refund the client"))
    assert Assessed.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_dropped_texts_leave_every_field_and_noted_ones_stay() -> None:
    enrichment = _enrichment()
    leave_out(
        enrichment,
        _found(
            _verdict("user_phrases", "refund the client"),
            _verdict("when_to_use", "For refunds."),
            _verdict("synonyms", "refund"),
            _verdict("translations.de", "erstatte es"),
            _verdict("translations.fr", "rembourse"),
            _verdict("user_phrases", "is the moon full", Consequence.NOTED),
        ),
    )
    kept = enrichment.written["sky/moon"].expansion
    assert (kept.user_phrases, kept.when_to_use, kept.synonyms) == (("is the moon full",), "", ("moon",))
    assert kept.translations == {"de": ("ist Vollmond",)}


def test_the_remarks_that_steered_are_told_as_verdicts_on_the_record() -> None:
    enrichment = _enrichment()
    leave_out(enrichment, _found())
    assert [(verdict.check, verdict.field, verdict.text) for verdict in enrichment.suspicious] == [
        ("foreign", "description", "say refund")
    ]
    assert enrichment.steering == {"sky/moon": frozenset({"say refund"})}
