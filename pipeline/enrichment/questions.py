"""Questions to generators, each under the key of its answer in the ledger.

See docs/decisions/0062-answers-keyed-by-the-question.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.enrichment import prompt
from pipeline.enrichment.generator import Generator, Prompt, Question
from pipeline.ledger import Ledger, LedgerQuestion
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
    """Return the key of an answer that depends on the whole record: a file's, the lexicon's.

    Earlier versions kept the answers of models under such keys too.
    """
    return fingerprint([record_hash, prompt.PROMPT_VERSION, generator.name, generator.model, extra])


def questions_about(
    catalog: Catalog,
    ledger: Ledger,
    generator: Generator,
    asked: Iterable[tuple[ToolRecord, Sequence[ToolRecord]]],
) -> list[Question]:
    """Return the questions about some records, each beside its siblings; none where the generator has nothing to say.

    A question that the ledger has under a key of an earlier version, answered or in an open batch, keeps that key.
    """
    questions: list[Question] = []
    prompts: dict[str, Prompt] = {}
    record_keys: dict[str, str] = {}
    for record, siblings in asked:
        extra = generator.key(record)
        if extra is None:
            continue
        if siblings:
            extra = {**extra, "siblings": [catalog.hashes[sibling.tool_id] for sibling in siblings]}
        key = record_key(catalog.hashes[record.tool_id], generator, extra)
        shown = generator.prompt(Question("", record, tuple(siblings)))
        if shown is not None:
            key, earlier = answer_key(generator, shown), key
            prompts[key] = shown
            record_keys.setdefault(key, earlier)
        questions.append(Question(key, record, tuple(siblings)))
    stored = _stored_keys(ledger, generator, prompts, record_keys)
    return [Question(stored.get(q.key, q.key), q.record, q.siblings) for q in questions]


def _stored_keys(
    ledger: Ledger, generator: Generator, prompts: Mapping[str, Prompt], record_keys: Mapping[str, str]
) -> dict[str, str]:
    """Return, by today's key, the keys under which earlier versions stored the same questions.

    They are found by the record's hash, or by the question's text where the record has changed since.
    """
    unknown = prompts.keys() - ledger.stored_keys(prompts)
    if not unknown:
        return {}
    by_record = ledger.stored_keys([record_keys[key] for key in unknown])
    found = {key: record_keys[key] for key in unknown if record_keys[key] in by_record}
    texts = [
        LedgerQuestion(key, prompt.PROMPT_VERSION, shown.instructions, shown.message, shown.parameters)
        for key, shown in prompts.items()
        if key in unknown and key not in found
    ]
    return {**found, **ledger.equal_questions(texts, generator.name, generator.model)}
