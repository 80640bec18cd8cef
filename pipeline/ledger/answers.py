"""Answers and failures of generators, the questions that were asked, and assessments of whole catalogs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.ledger.database import GIVEN, Database, utc_now
from router.fingerprint import canonical_json, fingerprint

# An answer belongs to a catalog if its record does, or the run that paid for it: a batch may be collected by another's.
_OF_CATALOG = """
    FROM expansions LEFT JOIN runs USING (run_id)
    WHERE discarded_at IS NULL AND generator NOT IN ('file', 'lexicon') AND (runs.catalog = $catalog OR EXISTS (
        FROM records WHERE records.catalog = $catalog
            AND records.tool_id = expansions.tool_id AND records.record_hash = expansions.record_hash))
"""


Asked = tuple[str, str, str, Mapping[str, Any]]
"""A question: its key, the instructions (the system message), the user's message, and the parameters."""
_REFUSED = "(refused_by IS NOT NULL AND checks = $checks)"


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An answer of a model, as JSON, with what it was asked about and when.

    `beside_siblings` says whether the question showed siblings; False too where the question was not kept.
    """

    expansion_key: str
    tool_id: str
    record_hash: str
    generator: str
    model: str
    prompt_version: int
    run: int
    beside_siblings: bool
    expansion: str


class Answers(Database):
    """The tables of questions, expansions, failures and assessments."""

    def expansions(self, keys: Iterable[str], checks: str = "") -> dict[str, dict[str, Any]]:
        """Return the stored answers to these keys, as JSON: of each the earliest that was not discarded.

        Those that checks of this version refused are left out.
        """
        rows = self.rows(
            f"SELECT expansion_key, expansion FROM expansions WHERE expansion_key IN {GIVEN} AND discarded_at IS NULL "
            f"AND NOT {_REFUSED} ORDER BY run_id DESC",
            {"given": list(keys), "checks": checks},
        )
        return {key: json.loads(text) for key, text in rows}

    def put_entries(self, run: int, outcomes: Sequence[Mapping[str, Any]]) -> None:
        """Store outcomes with what they cost: all of them, or none where that fails.

        Each has columns of `expansions`, and there `expansion` as JSON; or of `failures`, and there the `kind`.
        """
        with self.transaction():
            for table, column in (("expansions", "expansion"), ("failures", "kind")):
                rows = [one for one in outcomes if column in one]
                self.insert(table, rows, run_id=run, created_at=utc_now())

    def put_questions(self, run: int, prompt_version: int, asked: Sequence[Asked]) -> None:
        """Store questions that are not stored yet, and their instructions."""
        said = {fingerprint(instructions): instructions for _, instructions, *_ in asked}
        texts = [{"instructions_hash": digest, "instructions": text} for digest, text in said.items()]
        rows = [
            {
                "expansion_key": key,
                "instructions_hash": fingerprint(instructions),
                "message": storable(message),
                "parameters": canonical_json(dict(parameters)),
            }
            for key, instructions, message, parameters in asked
        ]
        self.insert("instructions", texts, key=["instructions_hash"], run_id=run, prompt_version=prompt_version)
        self.insert("questions", rows, key=["expansion_key"], run_id=run, created_at=utc_now())

    def questions(self, keys: Iterable[str]) -> list[Asked]:
        """Return the questions that are stored under these keys."""
        rows = self.rows(
            "SELECT expansion_key, instructions, message, parameters "
            f"FROM questions JOIN instructions USING (instructions_hash) WHERE expansion_key IN {GIVEN}",
            {"given": list(keys)},
        )
        return [(key, instructions, message, json.loads(parameters)) for key, instructions, message, parameters in rows]

    def has_model_answers(self, catalog: str) -> bool:
        """Return whether a model ever answered about a tool of a catalog."""
        return bool(self.rows(f"SELECT 1 {_OF_CATALOG} LIMIT 1", {"catalog": catalog}))

    def earlier_answers(self, catalog: str, tool_ids: Sequence[str], checks: str = "") -> list[EarlierAnswer]:
        """Return all answers of models about these tools of a catalog, the newest first by run: the clock may jump.

        Those that checks of this version refused are left out.
        """
        rows = self.rows(
            f"""
            SELECT expansion_key, tool_id, record_hash, generator, model, prompt_version, expansions.run_id,
                coalesce((
                    SELECT bool_or(json_extract(message, '$.siblings') IS NOT NULL)
                    FROM questions WHERE questions.expansion_key = expansions.expansion_key
                ), false),
                expansion::VARCHAR
            {_OF_CATALOG} AND tool_id IN {GIVEN} AND NOT {_REFUSED}
            ORDER BY expansions.run_id DESC, expansions.created_at DESC, expansion_key
            """,
            {"catalog": catalog, "given": list(tool_ids), "checks": checks},
        )
        return [EarlierAnswer(*row) for row in rows]

    def average_usage(self, model: str, *, added: bool = False) -> tuple[float, float] | None:
        """Return the mean tokens of a model's answers, and the cached share of its prompts' tokens; else None.

        With `added`, these are the tokens of one language in answers that were asked for languages alone.
        """
        (found,) = self.rows(
            """
            SELECT avg(completion_tokens / if($added, json_array_length(message, '$.languages'), 1)),
                sum(cached_tokens) / sum(prompt_tokens)
            FROM expansions LEFT JOIN questions USING (expansion_key)
            WHERE model = $model AND generator = 'openai' AND prompt_tokens > 0
                AND (json_extract(message, '$.only') IS NOT NULL) = $added
            """,
            {"model": model, "added": added},
        )
        return None if found[0] is None else found

    def languages_asked(self) -> list[tuple[str, ...]]:
        """Return the sets of languages beside English that questions have asked for."""
        rows = self.rows("SELECT DISTINCT from_json(parameters -> 'languages', '[\"VARCHAR\"]') FROM questions")
        return [tuple(languages or ()) for (languages,) in rows]

    def latest_kinds(self, model: str, count: int) -> list[str]:
        """Return how a model's latest answers failed, the newest first; "" for one that could be used.

        That is the kind of failure, or "rejected" where the checks refused the answer.
        """
        rows = self.rows(
            "SELECT coalesce(kind, if(refused_by IS NULL, '', 'rejected')) "
            "FROM (FROM expansions UNION ALL BY NAME FROM failures) "
            "WHERE model = ? AND generator = 'openai' ORDER BY run_id DESC, created_at DESC LIMIT ?",
            [model, count],
        )
        return [kind for (kind,) in rows]

    def assessment(self, key: str) -> dict[str, Any] | None:
        """Return the stored assessment of the same texts, as JSON; None if there is none."""
        rows = self.rows("SELECT assessment FROM assessments WHERE assessment_key = ? LIMIT 1", [key])
        return json.loads(rows[0][0]) if rows else None

    def put_assessment(self, run: int, key: str, assessment: Mapping[str, Any]) -> None:
        """Store an assessment under the hash of everything that it read."""
        self.execute("INSERT INTO assessments VALUES (?, ?, ?, ?)", [key, run, utc_now(), canonical_json(assessment)])


def storable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which a server may send and no file can store."""
    return text.encode("utf-8", "replace").decode("utf-8")
