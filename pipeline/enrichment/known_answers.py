"""What the ledger knows of questions' answers. Of one that it has in other languages, only the rest is asked for."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.enrichment.generator import Generator, Prompt, Question, answer_key
from pipeline.enrichment.prompt import REST_KNOWN
from pipeline.ledger import Ledger
from router.expansion import Expansion
from router.fingerprint import canonical_json


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """An answer under its key in the ledger, and the languages of the question that it was not asked for."""

    key: str
    answer: Expansion
    missing: tuple[str, ...] = ()

    def asks(self, question: Question) -> Question:
        """Return the question for the languages that are missing, under the key of the whole."""
        row = {**json.loads(question.prompt.message), "languages": list(self.missing), "only": REST_KNOWN}
        prompt = replace(question.prompt, message=canonical_json(row))
        return replace(question, prompt=prompt, known=self.answer, added=self.missing)

    def completed(self, translations: Mapping[str, tuple[str, ...]]) -> "KnownAnswer":
        """Return it with the languages that are missing, where `translations` have all of them."""
        if not self.missing or not translations.keys() >= set(self.missing):
            return self
        return KnownAnswer(self.key, self.answer.translated({one: translations[one] for one in self.missing}))


def known_answers(
    ledger: Ledger, generator: Generator, questions: Sequence[Question], checks: str
) -> dict[str, KnownAnswer]:
    """Return what the ledger has of the answers, by the questions' keys: the one that lacks the fewest languages.

    Those that `checks` of this version refused are left out.
    """
    known: dict[str, KnownAnswer] = {}

    def look_up(prompts: Iterable[tuple[str, str]], missing: tuple[str, ...] = ()) -> None:
        """Look for answers by pairs of the key of a question and a key that its answer may have."""
        pairs = list(prompts)
        found = ledger.answers.expansions([key for _, key in pairs], checks)
        for of, key in pairs:
            if key in found and of not in known:
                known[of] = KnownAnswer(key, Expansion.from_json(found[key]), missing)

    def key_of(prompt: Prompt) -> str:
        return answer_key(generator.name, generator.model, prompt)

    look_up((q.key, key) for q in questions for key in (q.key, *map(key_of, q.former)))
    rest = [question for question in questions if question.key not in known and question.prompt.message]
    if rest:
        wanted = tuple(rest[0].prompt.parameters.get("languages", ()))  # the same for all
        asked: set[tuple[str, ...]] = {(), *ledger.answers.languages_asked()} - {wanted}
        lacking = [(tuple(one for one in wanted if one not in languages), languages) for languages in asked]
        for missing, languages in sorted(lacking, key=lambda both: (len(both[0]), both)):
            left = [question for question in rest if question.key not in known]
            prompts = ((question.key, one) for question in left for one in (question.prompt, *question.former))
            look_up(((of, key_of(_in_languages(one, languages))) for of, one in prompts), missing)
    return known


def as_stored(ledger: Ledger, questions: Mapping[str, Question]) -> list[Question]:
    """Return the questions, given by key, that were asked before, with the prompts that the ledger has of them."""
    asked = ledger.answers.questions(questions)
    return [replace(questions[key], prompt=Prompt(text, said, given)) for key, text, said, given in asked]


def _in_languages(prompt: Prompt, languages: Sequence[str]) -> Prompt:
    """Return a prompt that asks for other languages beside English."""
    said = {"languages": list(languages)} if languages else {}
    row, parameters = json.loads(prompt.message), dict(prompt.parameters)
    for of in (row, parameters):
        of.pop("only", None)  # of a question that the ledger kept
        of.pop("languages", None)
        of.update(said)
    return replace(prompt, message=canonical_json(row), parameters=parameters)
