"""Answers of no use: which the checks refused, which questions wait after several, and which are asked ever again."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.ledger.database import GIVEN, Database

_LONGEST_WAIT = 5  # doublings: 32 builds
_RECENT = 32  # builds
# The rest of a run whose answers were mostly of no use says nothing of a tool.
_FEWEST_OF_A_RUN = 25
_BUILDS_SINCE = """(
    SELECT count(*) + 1 FROM runs WHERE runs.catalog = $catalog AND runs.run_id > latest AND runs.run_id < $run)"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that waits for so many builds after so many answers of no use. `answer` is the last one, as JSON."""

    answers: int
    builds: int
    answer: str | None


def _builds_to_wait(times: int) -> int:
    """Return after how many builds a question is asked again that was asked so many times: 1, 2, 4, 8 …"""
    return int(2 ** min(times - 1, _LONGEST_WAIT))


class Refusals(Database):
    """What the tables of answers and failures say of answers that were of no use."""

    def mark(self, run: int, refused: Mapping[str, str], checks: str) -> None:
        """Mark the latest answers to some keys as refused, each by the checks named. `checks` is their version."""
        if not refused:
            return
        rows = pa.table({"expansion_key": list(refused), "refused": list(refused.values())})
        with self.named(rows) as name:
            self.execute(
                f"UPDATE expansions SET refused_by = refused, checks = $checks FROM {name} AS given "
                "WHERE expansions.expansion_key = given.expansion_key "
                "AND (expansions.run_id = $run OR refused_by IS NULL OR checks != $checks)",
                {"run": run, "checks": checks},
            )

    def waiting(
        self, catalog: str, run: int, keys: Collection[str], checks: str, kinds: Sequence[str]
    ) -> dict[str, Waiting]:
        """Return which questions are not to be asked in a run, by key: those that were of no use in several builds.

        `kinds` are those of failures that count. Runs whose answers were mostly of no use, in the mean of the providers
        as well, do not: the fault was the model's. What was refused before says nothing of that.
        """
        rows = self.rows(
            f"""
            WITH outcomes AS (
                SELECT expansion_key, run_id, tool_id, refused_by IS NOT NULL AND checks = $checks AS refused, expansion
                FROM expansions WHERE generator = 'openai' AND discarded_at IS NULL
                UNION ALL
                SELECT expansion_key, run_id, tool_id, kind IN (SELECT unnest($kinds::VARCHAR[])), NULL
                FROM failures WHERE generator = 'openai'
            ), of_providers AS (
                SELECT run_id, count(*) AS answers, count_if(refused) AS refused FROM (
                    FROM outcomes QUALIFY NOT coalesce(
                        min(run_id) FILTER (refused) OVER (PARTITION BY expansion_key) < run_id, false)
                ) GROUP BY run_id, regexp_replace(tool_id, '/?[^/]*$', '')
            ), bad AS (
                SELECT run_id FROM of_providers GROUP BY ALL HAVING sum(answers) >= {_FEWEST_OF_A_RUN}
                    AND sum(refused) > sum(answers) / 2 AND avg(refused / answers) > 1 / 2
            ), of_no_use AS (
                SELECT expansion_key, count(DISTINCT run_id) AS times, max(run_id) AS latest,
                    arg_max(expansion, run_id)::VARCHAR AS answer
                FROM outcomes ANTI JOIN bad USING (run_id)
                WHERE refused AND expansion_key IN {GIVEN} AND run_id < $run GROUP BY ALL
            )
            SELECT expansion_key, times, {_BUILDS_SINCE}, answer FROM of_no_use WHERE times > 1
            """,
            {"catalog": catalog, "run": run, "given": list(keys), "checks": checks, "kinds": list(kinds)},
        )
        waiting = ((key, n, _builds_to_wait(n) - since, answer) for key, n, since, answer in rows)
        return {key: Waiting(n, builds, answer) for key, n, builds, answer in waiting if builds > 0}

    def asked_lately(
        self, catalog: str, run: int, tool_ids: Collection[str], model: str, prompt_version: int, parameters: str
    ) -> dict[tuple[str, bool], str]:
        """Return the latest messages about tools that a model answered well so often that the next question waits.

        They are by the tool's id, and by whether siblings were shown. `parameters` are canonical JSON.
        """
        rows = self.rows(
            f"""
            WITH asked AS (
                SELECT tool_id, contains(message, '"siblings":') AS beside, max(expansions.run_id) AS latest,
                    arg_max(message, expansions.run_id) AS message,
                    count(DISTINCT expansion_key) FILTER (expansions.run_id > $run - {_RECENT}) AS times
                FROM expansions JOIN questions USING (expansion_key)
                WHERE model = $model AND prompt_version = $version AND parameters::VARCHAR = $parameters
                    AND tool_id IN {GIVEN} AND expansions.run_id < $run
                    AND refused_by IS NULL AND discarded_at IS NULL
                GROUP BY ALL
            )
            SELECT tool_id, beside, times, {_BUILDS_SINCE}, message FROM asked
            """,
            {"catalog": catalog, "run": run, "given": list(tool_ids), "model": model, "version": prompt_version}
            | {"parameters": parameters},
        )
        return {(tool, beside): said for tool, beside, times, ago, said in rows if _builds_to_wait(times) > ago}
