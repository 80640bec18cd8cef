"""Every fault that a model's server may have, and its defined end."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import Enrichment
from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure
from pipeline.enrichment.openai import DirectGenerator, direct
from pipeline.enrichment.openai.chat import Completion, complete
from tests.pipeline.enrichment.catalog_run import catalog, ledger_rows, run
from tests.pipeline.enrichment.model_server import (
    ModelServer,
    Reply,
    answer,
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


def _no_phrases(name: str) -> Reply:
    return Reply(completion(json.dumps({**row(name), "user_phrases": []})))


@dataclass(frozen=True)
class Case:
    """The server's reply about a tool, and the end of the question.

    `requests` counts those about it in the first run, where the fault stays. `once` counts them where the fault is met
    once and made good; None where it is not made good.
    """

    fault: str
    reply: Reply | Callable[[str], Reply]  # by the name of the tool
    end: str
    requests: int | None
    once: int | None = 2
    paid: int = 0  # answers that the first run paid for
    says: str = ""


# With two retries: three requests in all.
_CASES = [
    Case("no answer in time", Reply("", delay_s=30.0), "timeout", 3, says="no answer within 0.1 s"),
    Case("an answer that drips", Reply(completion(_ROW), drip_s=0.05), "timeout", 3, says="no answer within 0.1 s"),
    Case("hung up before the answer", Reply("", drop=True), "connection", 3),
    Case("reset before the answer", Reply("", reset_after=-1), "connection", 3),
    Case("reset in the middle of the body", Reply(completion(_ROW), reset_after=200), "connection", 3),
    Case("429, retry-after in seconds", _busy(429, {"retry-after": "0.02"}), "rate", 12, says="busy"),
    Case("429, retry-after in ms", _busy(429, {"retry-after-ms": "20"}), "rate", None),
    Case("429, retry-after as a date", _busy(429, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), "rate", None),
    Case("429 without retry-after", _busy(429), "rate", 12),
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
    Case("no phrases", _no_phrases, "empty", 2, paid=2),
    Case("empty body", Reply(""), "shape", 2),
    Case("context too long", error(400, "maximum context length is 8192 tokens"), "refused", 1, once=None),
]
_BY_NAME = {f"t{number:02}": case for number, case in enumerate(_CASES)}


def _names(*ends: str) -> list[str]:
    """The tools whose faults, where they stay, end so."""
    return [name for name, case in _BY_NAME.items() if case.end in ends and case.requests]


_LATE, _LIMITED = _names("timeout"), _names("rate")
# Apart from those that are late, which need a time-out so short that a good answer may miss it on a busy machine,
# and from a limit: one that is spent is spent for all tools, and any other fault is one tool's.
_OWN = _names("connection", "server", "truncated", "refusal", "shape", "mismatch", "empty", "refused")


def _settings(server: ModelServer, **fields: Any) -> Any:
    return server.settings(
        **{"max_retries": 2, "retry_delay_s": 0.001, "timeout_s": 10.0, "requests_per_minute": 600_000, **fields}
    )


def _said(name: str) -> Reply:
    reply = _BY_NAME[name].reply
    return reply if isinstance(reply, Reply) else reply(name)


def _faulty(body: dict[str, Any], _: int) -> Reply:
    return _said(name) if (name := tool_of(body)["name"]) in _BY_NAME else answer(body)


def _ledger(workspace: Path) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Return the tools that were answered, and the failures with their tokens."""
    answers = ledger_rows(workspace, "SELECT tool_id FROM expansions ORDER BY ALL")
    return answers, ledger_rows(workspace, "SELECT tool_id, kind, prompt_tokens FROM failures ORDER BY ALL")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait a hundredth of a second after each refusal, where a build waits up to 20 seconds."""
    from pipeline.enrichment.openai import pace

    for name in ("_FIRST_PAUSE_S", "_LONGEST_BACKOFF_S", "_SHORTEST_PROBE_S"):
        monkeypatch.setattr(pace, name, 0.01)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools that are asked about, in order. Of a request that was given up, a busy server may never hear."""
    names = list[str]()

    async def noted(client: Any, body: dict[str, Any], timeout_s: float) -> Completion:
        names.append(tool_of(body)["name"])
        return await complete(client, body, timeout_s)

    monkeypatch.setattr(direct, "complete", noted)
    return names


@pytest.mark.parametrize(
    ("faulty", "answered", "unasked", "settings"),
    [
        pytest.param(_OWN, ["a", "z"], [], {}, id="faults of one tool"),
        pytest.param(_LATE, [], [], {"timeout_s": 0.1, "concurrency": 2}, id="time-outs"),
        *(pytest.param([name], ["a"], ["z"], {}, id=_BY_NAME[name].fault) for name in _LIMITED),
    ],
)
def test_every_fault_has_its_end_and_the_next_run_asks_only_what_failed(
    tmp_path: Path,
    sent: list[str],
    faulty: list[str],
    answered: list[str],
    unasked: list[str],
    settings: dict[str, Any],
) -> None:
    cases = {name: _BY_NAME[name] for name in faulty}
    tools = catalog(*sorted([*faulty, *answered, *unasked]))
    with ModelServer(_faulty) as server:
        first = run(tmp_path, tools, DirectGenerator(_settings(server, **settings)))
        assert {name: sent.count(name) for name in faulty} == {n: case.requests for n, case in cases.items()}
        met = {failure.tool_id: failure for failure in first.failures if failure.tool_id in cases}
        assert {name: failure.kind for name, failure in met.items()} == {n: case.end for n, case in cases.items()}
        assert [case.fault for name, case in cases.items() if case.says not in met[name].message] == []
        assert sorted(first.written) == answered
        stored, failed = _ledger(tmp_path)
        assert stored == [(name,) for name in answered]
        assert failed == [(name, case.end, 1_000 * case.paid) for name, case in cases.items()]
        sent.clear()
        server.script = answer
        second = run(tmp_path, tools, DirectGenerator(_settings(server)))
    assert sent == faulty + unasked
    assert (second.reused, len(second.written), second.failures) == (len(answered), len(tools.records), [])


@pytest.mark.parametrize("late", [False, True])
def test_a_fault_that_passes_is_made_good_in_the_same_run(late: bool) -> None:
    once = {name: case.once for name, case in _BY_NAME.items() if case.once and (case.end == "timeout") is late}
    met: set[str] = set()

    def passing(body: dict[str, Any], _: int) -> Reply:
        if (name := tool_of(body)["name"]) in met:
            return answer(body)
        met.add(name)
        return _said(name)

    with ModelServer(passing) as server:
        settings = _settings(server, **({"timeout_s": 0.3, "max_retries": 20, "concurrency": 2} if late else {}))
        outcomes = list(replies(DirectGenerator(settings), catalog(*once).records))
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in outcomes)
    asked = {name: server.asked.count(name) for name in once}
    # On a busy machine a good answer may be late, too.
    assert all(count > 1 for count in asked.values()) if late else asked == once


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
    [(_busy(503), "server", 9.0), (Reply("", drop=True), "connection", 9.0), (Reply("", delay_s=9.0), "timeout", 0.2)],
    ids=["503", "hung up", "silent"],
)
def test_a_server_that_dies_for_good_is_given_up_after_25_requests_in_a_row(
    reply: Reply, kind: str, timeout_s: float
) -> None:
    records = catalog(*(f"t{n:03}" for n in range(100))).records
    with ModelServer(lambda body, n: answer(body) if n <= 10 else reply) as server:
        settings = _settings(server, concurrency=5, max_retries=kind != "timeout", timeout_s=timeout_s)
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
