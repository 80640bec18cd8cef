"""Questions to generators, each under the key of its answer in the ledger.

See docs/decisions/0062-answers-keyed-by-the-question.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.enrichment import prompt
from pipeline.enrichment.generator import Generator, Prompt, Question
from pipeline.records import Catalog
from router.fingerprint import fingerprint
from router.record import ToolRecord


def answer_key(generator: Generator, asked: Prompt) -> str:
    """Return the key of a model's answer: the hash of all that the model is shown, and of its name.

    The prompt's version stands for the texts around the question, which say how to form the answer.
    """
    shown = [fingerprint(asked.instructions), asked.message, dict(asked.parameters)]
    return fingerprint([prompt.PROMPT_VERSION, generator.name, generator.model, *shown])


def record_key(record_hash: str, generator: Generator, extra: Mapping[str, Any]) -> str:
    """Return the key of an answer that depends on the whole record: a file's, the lexicon's."""
    return fingerprint([record_hash, prompt.PROMPT_VERSION, generator.name, generator.model, extra])


def questions_about(
    catalog: Catalog, generator: Generator, asked: Iterable[tuple[ToolRecord, Sequence[ToolRecord]]]
) -> list[Question]:
    """Return the questions about some records, each beside its siblings.

    There is none about a record of which the generator has nothing to say.
    """
    questions: list[Question] = []
    for record, siblings in asked:
        extra = generator.key(record)
        if extra is None:
            continue
        shown = generator.prompt(Question("", record, tuple(siblings)))
        if shown is not None:
            key = answer_key(generator, shown)
        else:
            if siblings:
                extra = {**extra, "siblings": [catalog.hashes[sibling.tool_id] for sibling in siblings]}
            key = record_key(catalog.hashes[record.tool_id], generator, extra)
        questions.append(Question(key, record, tuple(siblings)))
    return questions
