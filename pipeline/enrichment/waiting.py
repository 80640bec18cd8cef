"""Leave out questions that wait: those answered badly again and again, and those about records that keep changing."""

import json
import re
from collections import Counter

from pipeline.enrichment import prompt
from pipeline.enrichment.context import Enrichment, EnrichmentContext
from pipeline.enrichment.generator import UNUSABLE, GenerationFailure, Generator, Question
from pipeline.ledger.refusals import AskedBefore, builds_to_wait
from pipeline.sentences import counted
from router.expansion import Expansion
from router.fingerprint import canonical_json

_FEWEST = 3  # tools: one or two are a large share of a small catalog
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w+(?:[-.:/+]\w+)*")
_LONGEST = 40  # characters of what changed


def leave_waiting(
    context: EnrichmentContext, generator: Generator, unknown: dict[str, list[Question]], into: Enrichment, tools: int
) -> None:
    """Take the questions that wait out of `unknown`, and add a failure for each. Only questions to a model wait.

    `tools` is the number of tools that the generator has questions about, known answers among them.
    """
    if not (context.catalog_name and generator.accepts_siblings and unknown):
        return
    waiting = context.ledger.refusals.waiting(
        context.catalog_name, context.run, [*unknown], context.checks, sorted(UNUSABLE)
    )
    for key, one in waiting.items():
        alike = unknown.pop(key)
        message = (
            f"not asked: {one.answers} answers were of no use, the next is asked for in {counted(one.builds, 'build')}"
        )
        into.failures += [GenerationFailure(q.record.tool_id, "backed off", message) for q in alike]
        for question in alike if one.answer is not None else ():
            # The verdicts on the last answer are the snapshot's, whether or not the question is asked in this build.
            screened, verdicts = context.screen(question.record, Expansion.from_json(json.loads(one.answer or "")))
            if not screened.user_phrases:
                into.refused[question.record.tool_id] = verdicts
    _leave_changing(context, generator, unknown, into, tools)


def _leave_changing(
    context: EnrichmentContext, generator: Generator, unknown: dict[str, list[Question]], into: Enrichment, tools: int
) -> None:
    """Leave out tools whose records change again and again, where they are too large a share: see decisions/ledger.md.

    A tool is asked about at the first change. Another prompt, model or parameters are the operator's, and count anew.
    """
    shown = {same[0].record.tool_id: (key, same[0].prompt) for key, same in unknown.items()}
    parameters = canonical_json(dict(next((asked.parameters for _, asked in shown.values()), {})))  # the same for all
    before = context.ledger.refusals.asked_before(
        context.catalog_name, context.run, [*shown], generator.model, prompt.PROMPT_VERSION, parameters
    )
    changing: dict[str, AskedBefore] = {}
    for tool_id, (key, asked) in shown.items():
        one = before.get((tool_id, '"siblings":' in asked.message))
        if one is not None and builds_to_wait(one.times) > one.builds_ago:
            changing[key] = one
    count = sum(len(unknown[key]) for key in changing)
    if count < _FEWEST or count <= context.max_reasked_share * tools:
        return
    by_source: dict[str, list[str]] = {}
    for key in changing:
        by_source.setdefault(unknown[key][0].record.origin.file, []).append(key)
    allowed = f"enrichment.max_reasked_share allows {context.max_reasked_share:.1%}, 1 asks in each build"
    for source, keys in sorted(by_source.items()):
        changes = Counter(_change(changing[key].message, unknown[key][0].prompt.message) for key in keys)
        (what, same), *others = changes.most_common()
        change = what if not others else f"{same:,} of them {what}"
        of_source = counted(sum(len(unknown[key]) for key in keys), "tool")
        into.churn += (f"{of_source} of {source} changed again and are asked about later: {change}; {allowed}",)
        for key in keys:
            into.failures += [
                GenerationFailure(q.record.tool_id, "changing", f"not asked: its record keeps changing ({what})")
                for q in unknown.pop(key)
            ]


def _change(before: str, after: str) -> str:
    """Return what differs between two messages, in words: from the first word that does to the last."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    shortest = min(len(old), len(new))
    start = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    end = next((i for i in range(shortest - start) if old[-1 - i] != new[-1 - i]), shortest - start)
    was, now = (" ".join(words[start : len(words) - end]) for words in (old, new))
    only_digits = "only in digits, " if _DIGITS.sub("", was) == _DIGITS.sub("", now) else ""
    return f"{only_digits}{was[:_LONGEST]!r} → {now[:_LONGEST]!r}"
