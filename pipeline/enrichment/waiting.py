"""Leave out questions that wait: those answered badly again and again, and those about records that keep changing."""

import json
import re
from collections import Counter

from pipeline.enrichment import prompt
from pipeline.enrichment.checking import screen_answer
from pipeline.enrichment.context import Enrichment, EnrichmentContext
from pipeline.enrichment.generator import UNUSABLE, GenerationFailure, Generator, Question
from pipeline.sentences import counted
from router.expansion import Expansion
from router.fingerprint import canonical_json

_FEWEST = 3  # tools: one or two are a large share of a small source
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w+(?:[-.:/+]\w+)*")
_LONGEST = 40  # characters of what changed


def leave_waiting(
    context: EnrichmentContext, generator: Generator, unknown: dict[str, list[Question]], into: Enrichment
) -> None:
    """Take the questions that wait out of `unknown`, and add a failure for each. Only questions to a model wait."""
    if not (context.catalog_name and generator.accepts_siblings and unknown):
        return
    waiting = context.ledger.refusals.waiting(
        context.catalog_name, context.run, [*unknown], context.checks, sorted(UNUSABLE)
    )
    for key, one in waiting.items():
        message = (
            f"not asked: {one.answers} answers were of no use, the next is asked for in {counted(one.builds, 'build')}"
        )
        for question in unknown.pop(key):
            tool_id = question.record.tool_id
            into.failures.append(GenerationFailure(tool_id, "backed off", message))
            # The verdicts on the last answer are the snapshot's, whether or not the question is asked in this build.
            if one.answer is not None:
                answer = Expansion.from_json(json.loads(one.answer))
                screened, verdicts = screen_answer(context, question.record, answer)
                if not screened.user_phrases:
                    into.refused[tool_id] = verdicts
    _leave_changing(context, generator, unknown, into)


def _leave_changing(
    context: EnrichmentContext, generator: Generator, unknown: dict[str, list[Question]], into: Enrichment
) -> None:
    """Leave out tools whose records change again and again, where they are too large a share of their source's tools.

    A tool is asked about at the first change. Another prompt, model or parameters are the operator's, and count anew.
    See docs/decisions/ledger.md.
    """
    asked = {same[0].record.tool_id: same[0] for same in unknown.values()}
    parameters = canonical_json(dict(next((one.prompt.parameters for one in asked.values()), {})))  # the same for all
    before = context.ledger.refusals.asked_lately(
        context.catalog_name, context.run, [*asked], generator.model, prompt.PROMPT_VERSION, parameters
    )
    changing: dict[str, dict[str, str]] = {}  # by source and key, what changes
    for tool_id, question in asked.items():
        message = question.prompt.message
        if (last := before.get((tool_id, '"siblings":' in message))) is not None:
            of_source = changing.setdefault(question.record.origin.file, {})
            of_source[question.key] = _change(last, message)
    tools = Counter(record.origin.file for record in context.catalog.records)
    allowed = f"enrichment.max_reasked_share allows {context.max_reasked_share:.1%}, 1 asks in each build"
    for source, changes in sorted(changing.items()):
        count = sum(len(unknown[key]) for key in changes)
        if count < _FEWEST or count <= context.max_reasked_share * tools[source]:
            continue
        (what, same), *others = Counter(changes.values()).most_common()
        change = what if not others else f"{same:,} of them {what}"
        told = f"{counted(count, 'tool')} of {source} changed again and are asked about later: {change}; {allowed}"
        into.churn += (told,)
        into.failures += [
            GenerationFailure(q.record.tool_id, "changing", f"not asked: its record keeps changing ({what})")
            for key in changes
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
