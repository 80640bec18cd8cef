"""What a build's questions to a model are expected to take, before any is asked."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.enrichment import Generator, expansion_key
from pipeline.enrichment.generator import Question
from pipeline.ledger import Ledger
from pipeline.records import Catalog
from pipeline.settings import EnrichmentSettings
from router.record import ToolRecord

# Of the tools that a model writes for, how many are asked about again beside their siblings (.26, .36, .16 and .61 of
# four catalogs: AssessmentSettings), and the tokens that three siblings add to a question.
_CONTRASTED_SHARE = 0.35
_SIBLING_TOKENS = 250
_PACE = 0.98  # of a limit, as the limiter keeps it


@dataclass(frozen=True)
class Estimate:
    """Questions to a model, tokens, US dollars (None without a price), seconds at the configured limits (None without).

    `questions` are tools asked about, `contrasted` those expected to be asked about again beside their siblings,
    `known` answers that the ledger has, `awaited` questions in batches that were handed in before. `counted_by` is
    tiktoken's encoding, or "estimate" where its file is not at hand.
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

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return asdict(self)


def estimate(
    catalog: Catalog,
    generators: Sequence[Generator],
    settings: EnrichmentSettings,
    ledger: Ledger,
    *,
    assessed: bool,
) -> Estimate:
    """What enriching a catalog will take, given what the ledger has.

    `assessed` tells whether phrases will be held against the catalog, without which none are asked for twice. Second
    questions about tools whose first answer is known are not foreseen. Output tokens, and the share of the prompts that
    the server had cached, are those of earlier answers of the model.
    """
    known, questions = _unknown(catalog, generators, ledger)
    awaited = ledger.awaited_keys(settings.model)
    before = len(questions)
    questions = [question for question in questions if question.key not in awaited]
    waiting = before - len(questions)
    if not questions:
        return Estimate(known=known, awaited=waiting)
    if settings.max_tools is not None:
        questions = questions[: settings.max_tools]
    # A second to import: only where a model is asked.
    from pipeline.enrichment.openai.requests import Requests

    requests = Requests(settings)
    history = ledger.average_usage(settings.model)
    if history is not None:
        requests.assume(history.completion_tokens)
    size = settings.tools_per_request if settings.mode == "direct" else 1
    packs = [questions[first : first + size] for first in range(0, len(questions), size)]
    prompt = sum(requests.prompt_tokens(pack) for pack in packs)
    contrasted = round(_CONTRASTED_SHARE * len(questions)) if settings.contrast and assessed else 0
    if settings.max_tools is not None:
        contrasted = min(contrasted, settings.max_tools - len(questions))
    prompt += contrasted * (prompt // len(packs) + _SIBLING_TOKENS)
    count = len(questions) + contrasted
    completion = requests.output_tokens(count)
    cached = round(prompt * history.cached_share) if history else 0
    paces = (
        (settings.requests_per_minute, len(packs) + contrasted),
        (settings.tokens_per_minute, prompt + completion),
    )
    seconds = [60 * amount / (_PACE * limit) for limit, amount in paces if limit]
    return Estimate(
        known=known,
        awaited=waiting,
        questions=len(questions),
        contrasted=contrasted,
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost_usd=requests.cost(prompt, cached, completion, batch=settings.mode == "batch"),
        seconds=max(seconds) if seconds and settings.mode == "direct" else None,
        counted_by=requests.counter.name,
    )


def _unknown(catalog: Catalog, generators: Sequence[Generator], ledger: Ledger) -> tuple[int, list[Question]]:
    """How many answers the ledger has, and the questions that a model will be asked."""
    known = 0
    asked: list[Question] = []
    left: Sequence[ToolRecord] = catalog.records
    for generator in generators:
        keys = {}
        for record in left:
            extra = generator.key(record)
            if extra is not None:
                keys[record.tool_id] = expansion_key(catalog, record, generator, extra)
        have = ledger.expansions(list(keys.values()))
        known += sum(key in have for key in keys.values())
        if generator.accepts_siblings:
            asked = [Question(keys[r.tool_id], r) for r in left if keys.get(r.tool_id, "") not in have]
            break
        left = [record for record in left if record.tool_id not in keys]
    return known, asked
