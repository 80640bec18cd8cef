"""The estimate of a build's questions to a model: tokens, cost and time, before any is asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.enrichment.chain import LedgerOnly
from pipeline.enrichment.generator import Generator, Question, questions_about
from pipeline.enrichment.known_answers import known_answers
from pipeline.ledger import Ledger
from pipeline.records import Catalog
from pipeline.settings import EnrichmentSettings
from router.record import ToolRecord

# See docs/decisions/model-requests.md.
_CONTRASTED_SHARE = 0.35  # of the tools that a model writes for: asked about again beside their siblings
_SIBLING_TOKENS = 250  # that three siblings add to a question
_LIMIT_SHARE = 0.98  # of a limit that the limiter uses


@dataclass(frozen=True)
class Estimate:
    """Questions to a model, tokens, US dollars (None without a price), seconds at the configured limits (None without).

    `questions` counts tools to ask about, `contrasted` those expected to be asked about again beside their siblings,
    `known` answers in the ledger, `awaited` questions in batches that were submitted before. `counted_by` is tiktoken's
    encoding, or "estimate" where its file is missing.
    """

    known: int = 0
    awaited: int = 0
    questions: int = 0
    contrasted: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float | None = None
    counted_by: str = ""


def estimate(
    catalog: Catalog,
    generators: Sequence[Generator],
    settings: EnrichmentSettings,
    ledger: Ledger,
    *,
    assessed: bool,
    checks: str = "",
) -> Estimate:
    """Return what enriching a catalog will take, given the answers in the ledger.

    `assessed` says whether phrases will be compared across the catalog; else no tool is asked about twice. Answers
    that `checks` of this version refused count as unknown; which of them wait longer is not foreseen, nor are second
    questions about tools whose first answer is known. Output tokens and the cached share of the
    prompts are those of the model's earlier answers.
    """
    known, unknown = _unknown(catalog, generators, ledger, checks)
    awaited = ledger.batches.awaited_keys(settings.model)
    questions = [question for question in unknown if question.key not in awaited][: settings.max_tools]
    found = Estimate(known=known, awaited=sum(question.key in awaited for question in unknown))
    if not questions:
        return found
    # The import takes a second: only where a model is asked.
    from pipeline.enrichment.openai.model import ADDED_TOKENS, OUTPUT_TOKENS, ModelGenerator

    model = ModelGenerator(settings)
    answer_tokens, cached_share = ledger.answers.average_usage(settings.model) or (OUTPUT_TOKENS, 0.0)
    added_tokens, _ = ledger.answers.average_usage(settings.model, added=True) or (ADDED_TOKENS, 0.0)
    prompt = sum(map(model.prompt_tokens, questions))
    whole = sum(question.known is None for question in questions)
    contrasted = round(_CONTRASTED_SHARE * whole) if settings.contrast and assessed else 0
    if settings.max_tools is not None:
        contrasted = min(contrasted, settings.max_tools - len(questions))
    prompt += contrasted * (prompt // len(questions) + _SIBLING_TOKENS)
    count = len(questions) + contrasted
    completion = round((whole + contrasted) * answer_tokens + added_tokens * sum(len(q.added) for q in questions))
    cached = round(prompt * cached_share)
    return replace(
        found,
        questions=len(questions),
        contrasted=contrasted,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=model.cost(prompt, cached, completion, batch=settings.mode == "batch"),
        seconds=_seconds(settings, count, prompt + completion),
        counted_by=model.counter.name,
    )


def _seconds(settings: EnrichmentSettings, requests: int, tokens: int) -> float | None:
    """Return the time that the limits of the settings allow at best; None without a limit, and for batches."""
    amounts = ((settings.requests_per_minute, requests), (settings.tokens_per_minute, tokens))
    seconds = [60 * amount / (_LIMIT_SHARE * limit) for limit, amount in amounts if limit]
    return max(seconds) if seconds and settings.mode == "direct" else None


def _unknown(
    catalog: Catalog, generators: Sequence[Generator], ledger: Ledger, checks: str
) -> tuple[int, list[Question]]:
    """Return the number of answers in the ledger, and the questions that a model will be asked."""
    known = 0
    remaining: Sequence[ToolRecord] = catalog.records
    for generator in generators:
        questions = questions_about(catalog, generator, remaining)
        found = known_answers(ledger, generator, questions, checks)
        known += sum(q.key in found and not found[q.key].missing for q in questions)
        if isinstance(generator, LedgerOnly):
            break  # it is not asked
        if generator.accepts_siblings:
            # Tools that a model cannot tell apart are one question.
            unknown = {q.key: q for q in questions if q.key not in found}
            added = {q.key: found[q.key].asks(q) for q in questions if q.key in found and found[q.key].missing}
            return known, [*unknown.values(), *added.values()]
        said = {question.record.tool_id for question in questions}
        remaining = [record for record in remaining if record.tool_id not in said]
    return known, []
