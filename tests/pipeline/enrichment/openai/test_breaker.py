"""A model whose answers can never be used is not asked about every tool."""

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment.generator import UNASKED, GeneratedExpansion, GenerationFailure
from pipeline.enrichment.openai import BatchGenerator, DirectGenerator
from pipeline.enrichment.openai.model import MAX_UNUSABLE
from pipeline.ledger import Ledger
from tests.pipeline.enrichment.batch_server import BatchServer
from tests.pipeline.enrichment.model_server import ModelServer, Reply, answer, completion, replies, row, tool_of
from tests.support.factories import make_record

_RECORDS = [make_record(f"tool_{number}") for number in range(120)]
_USELESS = {
    "prose": Reply(completion("I would love to help you with that!")),
    "another tool": Reply(completion('{"tool": "other", "user_phrases": ["do it"]}')),
    "refusal": Reply(completion(None, message={"refusal": "I cannot help with that."})),
    "cut answer": Reply(completion('{"tool": "to', finish_reason="length")),
}


def _entry(number: int, kind: str) -> dict[str, Any]:
    of = {"kind": kind} if kind else {"prompt_version": 1, "expansion": json.dumps(row("t"))}
    return {"expansion_key": f"k{number}", "generator": "openai", "model": "gpt-5-mini", **of}


def _unasked(outcomes: list[Any]) -> list[GenerationFailure]:
    return [o for o in outcomes if isinstance(o, GenerationFailure) and o.kind == UNASKED]


def test_after_25_unusable_answers_of_any_kind_in_a_row_the_rest_is_not_asked() -> None:
    kinds = dict(zip((record.name for record in _RECORDS), cycle(_USELESS.values())))
    with ModelServer(lambda body, _: kinds[tool_of(body)["name"]]) as server:
        outcomes = list(replies(DirectGenerator(server.settings(concurrency=4)), _RECORDS))
    assert len(outcomes) == len(_RECORDS)
    unasked = _unasked(outcomes)
    assert len(_RECORDS) - len(unasked) <= MAX_UNUSABLE + 4  # and those in flight
    assert len(server.requests) <= 2 * (MAX_UNUSABLE + 4)
    failures = [o for o in outcomes if isinstance(o, GenerationFailure) and o.kind != UNASKED]
    assert {failure.kind for failure in failures} == {"shape", "mismatch", "refusal", "truncated"}
    assert any(failure.message[:30] in unasked[0].message for failure in failures)
    assert "enrichment.model" in unasked[0].message and "--generator none" in unasked[0].message


def test_a_later_stage_of_the_build_is_not_asked_either() -> None:
    with ModelServer(lambda *_: _USELESS["prose"]) as server:
        generator = DirectGenerator(server.settings())
        list(replies(generator, _RECORDS[:60]))
        paid = len(server.requests)
        outcomes = list(replies(generator, _RECORDS[60:]))
    assert len(server.requests) == paid
    assert len(_unasked(outcomes)) == 60


def test_a_model_that_fails_on_every_third_tool_is_asked_about_all() -> None:
    def script(body: dict[str, Any], count: int) -> Reply:
        return _USELESS["refusal"] if count % 3 == 0 else answer(body)

    with ModelServer(script) as server:
        outcomes = list(replies(DirectGenerator(server.settings(concurrency=8)), _RECORDS))
    assert not _unasked(outcomes)
    assert sum(isinstance(o, GeneratedExpansion) for o in outcomes) == 80


def test_a_batch_without_a_usable_answer_is_the_last_of_its_build(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger, BatchServer(lambda *_: _USELESS["prose"]) as server:
        generator = BatchGenerator(server.settings(), ledger)
        list(replies(generator, _RECORDS[:40]))
        outcomes = list(replies(generator, _RECORDS[40:]))
    assert len(server.paid) == 40
    assert len(_unasked(outcomes)) == 80


@pytest.mark.parametrize("recovered", [False, True])
def test_the_next_build_submits_25_questions_to_a_model_whose_latest_answers_were_of_no_use(
    tmp_path: Path, recovered: bool
) -> None:
    with Ledger.open(tmp_path) as ledger, BatchServer(answer) as server:
        kinds = ["shape"] * 29 + ["" if recovered else "refusal"]
        entries = [_entry(number, kind) for number, kind in enumerate(kinds)]
        run = ledger.start_run("demo")
        ledger.answers.put_entries(run, entries[:29])
        ledger.answers.put_entries(ledger.start_run("demo"), entries[29:])
        outcomes = list(replies(BatchGenerator(server.settings(), ledger), _RECORDS))
    assert len(server.paid) == (120 if recovered else MAX_UNUSABLE)
    assert len(_unasked(outcomes)) == (0 if recovered else 120 - MAX_UNUSABLE)
