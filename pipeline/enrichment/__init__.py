"""Enrichment: ToolRecord → Expansion, from the ledger where the answer is known, else from a generator.

`enrich` asks the generators in turn; `ask` puts the questions to one of them, stores the outcomes and has them checked
by `checking`, which finds `repeated_answers`; `waiting` leaves out questions that wait. `known_answers` looks into the
ledger, `context` holds the values that all fill, and `by_hand` adds what a person wrote.
`generator` is the protocol; `openai/` and `chain` keep it, and `chain` chooses among them. `prompt` is what a model is
asked, `estimate` foresees the spending.
"""

from pipeline.enrichment.context import Enrichment, EnrichmentContext, ScreenedExpansion
from pipeline.enrichment.enrich import contrast, enrich, interleaved_by_provider
from pipeline.enrichment.generator import GenerationFailure, Generator
from router.expansion import Expansion

__all__ = [
    "Enrichment",
    "EnrichmentContext",
    "Expansion",
    "GenerationFailure",
    "Generator",
    "ScreenedExpansion",
    "contrast",
    "enrich",
    "interleaved_by_provider",
]
