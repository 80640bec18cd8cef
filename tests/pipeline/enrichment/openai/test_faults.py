"""Every fault that a model's server may have, and its defined end."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import Enrichment
from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure
from pipeline.enrichment.openai import DirectGenerator
from tests.pipeline.enrichment.catalog_run import catalog, ledger_rows, run
from tests.pipeline.enrichment.model_server import (
    ModelServer,
    Reply,
    answer,
    but,
    completion,
    error,
    replies,
    row,
    tool_of,
)

_ROW = json.dumps(row("b"))
_QUOTA = error(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota", {})


def _busy(status: int, headers: dict[str, str] | None = None) -> Reply:
    return error(status, "busy", "server_error", headers=headers or {})


def _date() -> Reply:
    return _busy(429, {"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)})


@dataclass(frozen=True)
class Case:
    """The server's reply about tool b, and the end of the question.

    `requests` counts those about b in the first run, where the fault stays. `once` counts them where the fault is met
    once and made good; None where it is not made good.
    """

    fault: str
    reply: Reply | Callable[[], Reply]
    end: str
    requests: int | None
    once: int | None = 2
    paid: int = 0  # answers that the first run paid for
    says: str = ""

    @property
    def timeout_s(self) -> float:
        """Short where time-outs are tested; else long, for a busy machine."""
        return 0.2 if self.end == "timeout" else 10.0


# With two retries: three requests in all.
_CASES = [
    Case("no answer in time", Reply("", delay_s=30.0), "timeout", 3, says="no answer within 0.2 s"),
    Case("an answer that drips", Reply(completion(_ROW), drip_s=0.05), "timeout", 3, says="no answer within 0.2 s"),
    Case("hung up before the answer", Reply("", drop=True), "connection", 3),
    Case("reset before the answer", Reply("", reset_after=-1), "connection", 3),
    Case("reset in the middle of the body", Reply(completion(_ROW), reset_after=200), "connection", 3),
    Case("429, retry-after in seconds", _busy(429, {"retry-after": "0.02"}), "rate", 9, says="busy"),
    Case("429, retry-after in ms", _busy(429, {"retry-after-ms": "20"}), "rate", None),
    Case("429, retry-after as a date", _date, "rate", None),  # whole seconds: too long a wait to meet nine times
    Case("429 without retry-after", _busy(429), "rate", 9),
    Case("429, come back tomorrow", _busy(429, {"retry-after": "86400"}), "rate", 1, once=None),
    Case("500", _busy(500), "server", 3, says="busy"),
    Case("503 with retry-after", _busy(503, {"retry-after": "0.05"}), "server", 3),
    Case("408", _busy(408), "server", None),
    Case(
        "truncated", Reply(completion(_ROW, finish_reason="length")), "truncated", 1, None, 1, "max_completion_tokens"
    ),
    Case("refusal", Reply(completion(None, message={"refusal": "No."})), "refusal", 1, None, paid=1, says="No."),
    Case("content filter", Reply(completion("", finish_reason="content_filter")), "refusal", 1, None, paid=1),
    Case("broken JSON", Reply(completion(_ROW[:-1])), "shape", 2, paid=2, says="holds no JSON object that can be read"),
    Case("another tool's answer", Reply(completion(json.dumps(row("a")))), "mismatch", 2, paid=2, says="about 'a'"),
    Case("no phrases", Reply(completion(json.dumps({**row("b"), "user_phrases": []}))), "empty", 2, paid=2),
    Case("empty body", Reply(""), "shape", 2),
    Case("context too long", error(400, "maximum context length is 8192 tokens"), "refused", 1, once=None),
]


def _settings(server: ModelServer, **fields: Any) -> Any:
    return server.settings(
        **{"max_retries": 2, "retry_delay_s": 0.001, "timeout_s": 10.0, "requests_per_minute": 600_000, **fields}
    )


def _said(case: Case) -> Reply:
    return case.reply if isinstance(case.reply, Reply) else case.reply()


def _ledger(workspace: Path) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Return the tools that were answered, and the failures with their tokens."""
    answers = ledger_rows(workspace, "SELECT tool_id FROM expansions ORDER BY ALL")
    return answers, ledger_rows(workspace, "SELECT tool_id, kind, prompt_tokens FROM failures ORDER BY ALL")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait a hundredth of a second after each refusal, where a build waits up to 20 seconds."""
    from pipeline.enrichment.openai import pace

    for name in ("_SHORTEST_PAUSE_S", "_DEFAULT_PAUSE_S", "_LONGEST_BACKOFF_S"):
        monkeypatch.setattr(pace, name, 0.01)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.fault) for case in _CASES if case.requests])
def test_every_fault_has_its_end_and_the_next_run_asks_only_what_failed(tmp_path: Path, case: Case) -> None:
    with ModelServer(but("b", _said(case))) as server:
        first = run(tmp_path, catalog(*"abc"), DirectGenerator(_settings(server, timeout_s=case.timeout_s)))
        assert server.asked.count("b") == case.requests
        assert [(failure.tool_id, failure.kind) for failure in first.failures][:1] == [("b", case.end)]
        assert case.says in first.failures[0].message
        # A limit that is spent is spent for all; any other fault is one tool's.
        others = ["a"] if case.end == "rate" else ["a", "c"]
        assert sorted(first.written) == others
        answered, failed = _ledger(tmp_path)
        assert answered == [(name,) for name in others]
        assert failed[0] == ("b", case.end, 1_000 * case.paid)
        before = len(server.asked)
        server.script = answer
        second = run(tmp_path, catalog(*"abc"), DirectGenerator(_settings(server)))
    assert server.asked[before:] == [name for name in "bc" if name == "b" or name not in others]
    assert (second.reused, sorted(second.written), second.failures) == (len(others), list("abc"), [])


@pytest.mark.parametrize("case", [pytest.param(case, id=case.fault) for case in _CASES if case.once])
def test_a_fault_that_passes_is_made_good_in_the_same_run(case: Case) -> None:
    with ModelServer(lambda body, n: _said(case) if n == 2 else answer(body)) as server:
        # Long enough that only what is held back is late, on a busy machine too.
        settings = _settings(server, timeout_s=max(1.5, case.timeout_s))
        outcomes = list(replies(DirectGenerator(settings), catalog(*"abc").records))
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in outcomes)
    assert server.asked == ["a", *"b" * (case.once or 0), "c"]


def test_a_quota_spent_in_the_middle_ends_the_asking_and_keeps_what_was_answered(tmp_path: Path) -> None:
    names = [f"t{n:03}" for n in range(20)]
    with ModelServer(lambda body, n: answer(body) if n <= 5 else _QUOTA) as server:
        first = run(tmp_path, catalog(*names), DirectGenerator(_settings(server)))
        assert len(server.requests) == 6
        assert sorted(first.written) == names[:5]
        met, *others = sorted((failure.tool_id, failure.kind) for failure in first.failures)
        assert met == (names[5], "quota") and others == [(name, "unasked") for name in names[6:]]
        assert all("exceeded your current quota" in failure.message for failure in first.failures)
        assert first.asked == {"openai": 6}
        assert _ledger(tmp_path)[1] == [(names[5], "quota", 0)]
        server.script = answer
        second = run(tmp_path, catalog(*names), DirectGenerator(_settings(server)))
    assert len(server.requests) == 6 + 15 and second.reused == 5


@pytest.mark.parametrize(
    ("reply", "kind", "timeout_s"),
    [(_busy(503), "server", 5.0), (Reply("", drop=True), "connection", 5.0), (Reply("", delay_s=9.0), "timeout", 0.1)],
    ids=["503", "hung up", "silent"],
)
def test_a_server_that_dies_for_good_is_given_up_after_25_requests_in_a_row(
    reply: Reply, kind: str, timeout_s: float
) -> None:
    records = catalog(*(f"t{n:03}" for n in range(100))).records
    with ModelServer(lambda body, n: answer(body) if n <= 10 else reply) as server:
        settings = _settings(server, concurrency=5, max_retries=1, timeout_s=timeout_s)
        outcomes = list(replies(DirectGenerator(settings), records))
    failures = [outcome for outcome in outcomes if isinstance(outcome, GenerationFailure)]
    assert {failure.kind for failure in failures} == {kind, "unasked"}
    # Late answers among the failures restart the count; requests in flight are waited for.
    last = max(place for place, outcome in enumerate(outcomes) if isinstance(outcome, GeneratedExpansion))
    in_a_row = [o for o in outcomes[last + 1 :] if isinstance(o, GenerationFailure) and o.kind == kind]
    assert 25 <= len(in_a_row) <= 25 + 5
    never = [failure for failure in failures if failure.kind == "unasked"]
    assert len(server.requests) <= 2 * (100 - len(never))
    assert "requests in a row were not answered" in never[0].message


def test_a_server_that_stumbles_now_and_then_is_not_given_up() -> None:
    def stumbling(body: dict[str, Any], _: int) -> Reply:
        return answer(body) if int(tool_of(body)["name"][1:]) % 5 == 0 else _busy(500)

    records = catalog(*(f"t{n:03}" for n in range(50))).records
    with ModelServer(stumbling) as server:
        outcomes = list(replies(DirectGenerator(_settings(server, max_retries=0)), records))
    assert len(server.requests) == 50
    assert sum(isinstance(outcome, GeneratedExpansion) for outcome in outcomes) == 10


def test_the_same_run_given_again_asks_only_what_is_missing(tmp_path: Path) -> None:
    result = Enrichment()
    with ModelServer(lambda body, n: error(400, "no") if n == 2 else answer(body)) as server:
        for _ in range(2):
            run(tmp_path, catalog(*"abc"), DirectGenerator(_settings(server)), into=result)
    assert server.asked == ["a", "b", "c", "b"]
    assert result.failures == [] and sorted(result.written) == list("abc")
