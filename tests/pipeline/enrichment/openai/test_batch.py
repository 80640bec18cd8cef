"""Questions asked by the Batch API: what is submitted and paid for, and every end of a batch and of its lines."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Outcome
from pipeline.enrichment.openai import BatchGenerator, DirectGenerator
from pipeline.enrichment.openai.answers import OutputMode
from pipeline.enrichment.openai.batch_calls import BatchCalls
from pipeline.errors import RunAborted, Unavailable
from pipeline.ledger import Ledger
from tests.pipeline.enrichment.batch_server import BatchServer, Course, Lines
from tests.pipeline.enrichment.model_server import (
    COST,
    Reply,
    Script,
    answer,
    but,
    completion,
    error,
    replies,
    row,
    tool_of,
)
from tests.support.factories import make_record

_RECORDS = [make_record(f"tool_{number}") for number in range(4)]
_NAMES = [record.name for record in _RECORDS]
_ALL_ANSWERED = dict.fromkeys(_NAMES, "")
_BUSY = error(429, "Rate limit reached", code="rate_limit_exceeded")
_BROKEN = error(500, "The server had an error while processing your request.")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Share one ledger: each test has a server of its own, and opening a ledger takes longer than a test."""
    with Ledger.open(tmp_path_factory.mktemp("workspace")) as opened:
        yield opened


def _outcomes(server: BatchServer, ledger: Ledger, **settings: Any) -> dict[str, Outcome]:
    outcomes = list(replies(BatchGenerator(server.settings(**settings), ledger), _RECORDS))
    assert len(outcomes) == len(_RECORDS)
    return {outcome.tool_id.partition("/")[2]: outcome for outcome in outcomes}


def _kinds(server: BatchServer, ledger: Ledger, **settings: Any) -> dict[str, str]:
    """Return for each tool the kind of its failure, or "" where it was answered."""
    outcomes = _outcomes(server, ledger, **settings)
    return {name: outcome.kind if isinstance(outcome, GenerationFailure) else "" for name, outcome in outcomes.items()}


def _asked(server: BatchServer) -> list[list[str]]:
    """Return the tools of each batch."""
    return [[tool_of(line["body"])["name"] for line in server.lines(n)] for n in range(len(server.batches))]


def _first(times: int, name: str, reply: Reply) -> Script:
    """Return a script that answers well, except for the first requests about one tool."""
    asked: Counter[str] = Counter()

    def script(body: dict[str, Any], _: int) -> Reply:
        asked[tool_of(body)["name"]] += 1
        return reply if tool_of(body)["name"] == name and asked[name] <= times else answer(body)

    return script


def test_all_questions_go_in_one_file_and_each_is_answered_once_by_its_custom_id(ledger: Ledger) -> None:
    notes: list[str] = []
    steps = ["in_progress", "in_progress", "in_progress", "finalizing", "completed"]
    with BatchServer(courses=[Course(steps=steps)]) as server:  # its results are in the opposite order
        outcomes = list(replies(BatchGenerator(server.settings(), ledger, note=notes.append), _RECORDS))
    said = {o.tool_id: o.expansion.user_phrases for o in outcomes if isinstance(o, GeneratedExpansion)}
    assert said == {record.tool_id: (f"please do {record.name}",) for record in _RECORDS}
    assert server.paid == _NAMES and len(server.batches) == 1
    assert [line["custom_id"] for line in server.lines()] == [record.tool_id for record in _RECORDS]
    assert ledger.batches.unsettled(server.base_url + "/", "gpt-5-mini") == []
    assert notes == ["batch_0000: in_progress, 0 of 4 done", "batch_0000: finalizing, 4 of 4 done"]


def test_a_line_asks_what_a_question_by_itself_would_ask_and_without_questions_nobody_is_asked(ledger: Ledger) -> None:
    with BatchServer() as server:
        settings = server.settings(parameters={"temperature": 0, "top_k": 20})
        assert list(replies(BatchGenerator(settings, ledger), [])) == [] == server.calls
        list(replies(BatchGenerator(settings, ledger), _RECORDS[:1]))
    direct = DirectGenerator(settings)
    question = direct.question(_RECORDS[0], "")
    assert server.lines()[0]["body"] == direct.body(question, OutputMode.JSON_SCHEMA)
    assert BatchGenerator(settings, ledger).question(_RECORDS[0], "") == question


def test_an_answer_costs_the_share_of_the_price_that_the_table_says(ledger: Ledger) -> None:
    price = {"input": 0.25, "cached": 0.025, "output": 2.0, "batch": 0.25}
    prices: list[dict[str, Any]] = [{}, {"prices": {"gpt-5-mini": price}}, {"prices": {}}]
    with BatchServer() as server:
        half, quarter, unknown = (_outcomes(server, ledger, **settings)["tool_2"].usage for settings in prices)
    assert (half.prompt_tokens, half.cached_tokens, half.completion_tokens) == (1_000, 400, 200)
    assert (half.cost_usd, quarter.cost_usd) == pytest.approx((COST / 2, COST / 4)) and unknown.cost_usd is None


def test_a_file_holds_as_many_requests_and_bytes_as_settings_allow(ledger: Ledger) -> None:
    with BatchServer() as server:
        _outcomes(server, ledger, batch={"max_requests": 3})
        assert [len(tools) for tools in _asked(server)] == [3, 1]
        most = 2 * (len(server.files["file-0000"]) // 3 + 200)
        _outcomes(server, ledger, batch={"max_bytes": most})
    assert [len(tools) for tools in _asked(server)[2:]] == [2, 2]
    assert all(len(server.files[batch["input_file_id"]]) <= most for batch in list(server.batches.values())[2:])


@pytest.mark.parametrize(
    ("limit", "said"),
    # A question is estimated at ~1,600 tokens in and at most 800 out: (1,600 x .25 + 800 x 2) / 1e6 / 2 = $0.001.
    [({"max_tools": 3}, "enrichment.max_tools"), ({"max_cost_usd": 0.0035}, "enrichment.max_cost_usd")],
)
def test_what_the_budget_has_no_room_for_is_not_put_into_a_file(
    ledger: Ledger, limit: dict[str, Any], said: str
) -> None:
    with BatchServer() as server:
        failure = _outcomes(server, ledger, **limit)["tool_3"]
    assert isinstance(failure, GenerationFailure) and (failure.kind, failure.postponed) == ("budget", True)
    assert said in failure.message
    assert server.paid == _NAMES[:3]


def test_money_is_set_aside_once_for_a_question_and_answers_give_it_back(ledger: Ledger) -> None:
    with BatchServer(_first(1, "tool_2", _BUSY)) as server:
        direct = DirectGenerator(server.settings())
        bound = direct.highest_cost(direct.question(_RECORDS[0], ""), batch=True)
        assert bound > COST  # about $0.001 set aside, $0.00028 spent
        # Tool 2 is handed in twice: that is neither a fifth tool nor a fifth sum.
        generator = BatchGenerator(server.settings(max_tools=6, max_cost_usd=4.5 * bound), ledger)
        for records in (_RECORDS, [make_record("more_1"), make_record("more_2")]):
            assert all(isinstance(outcome, GeneratedExpansion) for outcome in replies(generator, records))
    assert len(server.batches) == 3


def test_what_is_not_ready_in_time_is_left_to_a_later_build(ledger: Ledger) -> None:
    with BatchServer(courses=[Course(steps=["in_progress"])]) as server:
        for outcome in _outcomes(server, ledger, wait_s=0.02).values():
            assert isinstance(outcome, GenerationFailure)
            assert outcome.kind == "waiting" and outcome.postponed
            assert outcome.message.startswith("in batch batch_0000 since 20")
            assert outcome.message.endswith(" UTC: a later build collects it")
        server.proceed("completed")
        assert _kinds(server, ledger) == _ALL_ANSWERED
    assert len(server.batches) == 1
    assert server.paid == _NAMES


def test_the_waits_of_a_build_add_up(ledger: Ledger) -> None:
    steps = Course(steps=["in_progress"])
    with BatchServer(courses=[steps, steps]) as server:
        generator = BatchGenerator(server.settings(wait_s=0.05, batch={"poll_s": 0.02}), ledger)
        list(replies(generator, _RECORDS[:1]))
        looks = len(server.calls)
        list(replies(generator, _RECORDS[:2]))  # no waiting time is left: submitted, and looked at once
    assert [call.partition(" ")[0] for call in server.calls[looks:]] == ["POST", "POST", "GET", "GET"]


def test_of_two_lines_of_a_question_the_first_counts_and_strange_lines_are_noted(ledger: Ledger) -> None:
    def spoil(lines: Lines) -> Lines:
        again = json.loads(json.dumps(lines[0]))
        said = json.dumps({**row(_NAMES[0]), "user_phrases": ["the second answer"]})
        again["response"]["body"]["choices"][0]["message"]["content"] = said
        return [{**again, "custom_id": "of somebody else"}, *lines, again, {"no": "line"}, ["list"]]

    notes: list[str] = []
    with BatchServer(courses=[Course(spoil=spoil)]) as server:
        outcomes = list(replies(BatchGenerator(server.settings(), ledger, notes.append), _RECORDS))
    assert notes[-1] == "batch_0000: 4 lines of its results answer no question of it"
    assert [outcome.expansion.user_phrases for outcome in outcomes if isinstance(outcome, GeneratedExpansion)] == [
        (f"please do {name}",) for name in _NAMES
    ]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(completion(None, message={"refusal": "I cannot help with that."})), "refusal"),
        (Reply(completion("no JSON at all")), "shape"),
        (Reply({"detail": "not a completion"}), "shape"),
        (Reply({"error": {"message": "Invalid 'messages'", "code": None}}, 400), "refused"),
    ],
)
def test_an_answer_that_is_no_use_is_a_failure_with_what_it_cost(ledger: Ledger, reply: Reply, kind: str) -> None:
    with BatchServer(but("tool_2", reply)) as server:
        outcomes = _outcomes(server, ledger)
    assert [name for name, o in outcomes.items() if isinstance(o, GenerationFailure) and o.kind == kind] == ["tool_2"]
    cost = COST / 2 if "usage" in reply.body else 0.0
    assert (outcomes["tool_2"].usage.cost_usd or 0.0) == pytest.approx(cost)
    assert len(server.batches) == 1


@pytest.mark.parametrize(
    ("course", "again"),
    [
        (Course(["in_progress", "expired"], answered=3), _NAMES[3:]),
        (Course(["in_progress", "cancelled"], answered=3), _NAMES[3:]),
        (Course(spoil=lambda lines: lines[1:]), _NAMES[:1]),
    ],
    ids=["expired", "cancelled", "a missing line"],
)
def test_the_answers_of_a_batch_are_used_and_what_it_lacks_is_asked_again(
    ledger: Ledger, course: Course, again: list[str]
) -> None:
    with BatchServer(courses=[course]) as server:
        assert _kinds(server, ledger) == _ALL_ANSWERED
    assert _asked(server) == [_NAMES, again]


def test_what_expires_twice_is_left_to_the_next_build(ledger: Ledger) -> None:
    expired = Course(["expired"], answered=0)
    with BatchServer(courses=[expired, expired]) as server:
        assert _kinds(server, ledger) == dict.fromkeys(_NAMES, "timeout")
        assert _kinds(server, ledger) == _ALL_ANSWERED
    assert server.paid == _NAMES


@pytest.mark.parametrize(("reply", "kind"), [(_BUSY, "rate"), (_BROKEN, "server")])
def test_a_line_that_met_a_busy_server_is_asked_once_more(ledger: Ledger, reply: Reply, kind: str) -> None:
    for times, end in ((1, ""), (2, kind)):
        with BatchServer(_first(times, "tool_2", reply)) as server:
            assert _kinds(server, ledger) == {**_ALL_ANSWERED, "tool_2": end}
        assert _asked(server) == [_NAMES, ["tool_2"]]


def test_a_refused_response_format_is_asked_for_in_the_next_output_mode_up_to_the_last(ledger: Ledger) -> None:
    def script(body: dict[str, Any], _: int) -> Reply:
        asked = body.get("response_format", {}).get("type")
        return error(400, f"'response_format' {asked} is not supported") if asked else answer(body)

    with BatchServer(script) as server:
        generator = BatchGenerator(server.settings(), ledger)
        assert not [outcome for outcome in replies(generator, _RECORDS[:2]) if isinstance(outcome, GenerationFailure)]
        list(replies(generator, _RECORDS[2:]))  # the server's ways are known by now
    formats = [
        {line["body"].get("response_format", {}).get("type") for line in server.lines(number)}
        for number in range(len(server.batches))
    ]
    assert formats == [{"json_schema"}, {"json_object"}, {None}, {None}]
    assert server.paid == _NAMES
    with BatchServer(lambda *_: error(400, "guided decoding is broken")) as server:
        assert _kinds(server, ledger) == dict.fromkeys(_NAMES, "refused")
    assert len(server.batches) == 3


def test_a_model_that_no_batch_can_use_aborts_with_a_way_out_and_is_asked_again_later(ledger: Ledger) -> None:
    with BatchServer(models=()) as server:
        with pytest.raises(RunAborted) as aborted:
            _kinds(server, ledger)
        server.models, server.script = ("gpt-5-mini",), lambda *_: error(401, "Your key was revoked")
        with pytest.raises(RunAborted, match="Your key was revoked"):
            _kinds(server, ledger)
        assert ledger.batches.unsettled(f"{server.base_url}/", "gpt-5-mini") == []
        server.script = answer
        assert _kinds(server, ledger) == _ALL_ANSWERED
    said = str(aborted.value)
    assert "The provided model 'gpt-5-mini' is not supported" in said and server.base_url in said
    assert "OPENAI_API_KEY" in said and "enrichment.model" in said and "--generator none" in said
    assert "sk-loopback" not in said


def test_a_line_that_fails_its_batch_is_refused_and_the_others_are_asked_again(ledger: Ledger) -> None:
    records = [*_RECORDS[:2], make_record("odd", description="An unusual tool.")]
    with BatchServer() as server:
        outcomes = {o.tool_id: o for o in replies(BatchGenerator(server.settings(), ledger), records)}
    odd = outcomes.pop("stripe/odd")
    assert isinstance(odd, GenerationFailure)
    assert (odd.kind, odd.message) == ("refused", "This line is not parseable as valid JSON.")
    assert not [outcome for outcome in outcomes.values() if isinstance(outcome, GenerationFailure)]
    assert _asked(server) == [["tool_0", "tool_1", "odd"], ["tool_0", "tool_1"]]


def test_a_full_queue_takes_the_second_batch_once_the_first_has_ended_or_postpones(ledger: Ledger) -> None:
    with BatchServer(queue=3) as server:
        assert _kinds(server, ledger, batch={"max_requests": 2}) == _ALL_ANSWERED
    assert [batch["status"] for batch in server.batches.values()] == ["completed", "failed", "completed"]
    with BatchServer(queue=3) as server:
        for outcome in _outcomes(server, ledger).values():
            assert isinstance(outcome, GenerationFailure) and outcome.postponed
            assert "Enqueued token limit reached" in outcome.message and "enrichment.batch smaller" in outcome.message
    assert len(server.batches) == 1


@pytest.mark.parametrize("reply", [error(401, "Incorrect API key provided"), error(404, "Invalid URL (POST /files)")])
def test_a_server_that_takes_no_file_aborts_with_a_way_out(ledger: Ledger, reply: Reply) -> None:
    with BatchServer(trouble=lambda *_: reply) as server, pytest.raises(RunAborted) as aborted:
        _kinds(server, ledger, max_retries=3)
    assert reply.body["error"]["message"] in str(aborted.value)
    assert "cannot be used" in str(aborted.value) and "Check OPENAI_API_KEY" in str(aborted.value)
    assert len(server.calls) == 1


_MISSING = error(400, "Cannot find file file-0000, or project does not have access to it.")


@pytest.mark.parametrize(
    ("call", "met"),
    [
        ("POST /batches", [_MISSING]),  # a file that the server does not find at once
        ("GET /batches/batch_0000", [Reply(None, drop=True), _BROKEN, _BUSY]),
        ("GET /files/file-0001/content", [Reply("x" * 5_000, reset_after=2_000)]),  # it breaks off: read again whole
    ],
    ids=["missing file", "look", "results"],
)
def test_trouble_with_the_server_passes(ledger: Ledger, call: str, met: list[Reply]) -> None:
    def trouble(method: str, path: str, count: int) -> Reply | None:
        return met[count] if f"{method} {path}" == call and count < len(met) else None

    with BatchServer(trouble=trouble) as server:
        assert _kinds(server, ledger, max_retries=3) == _ALL_ANSWERED
    assert server.calls.count(call) > len(met)
    assert len(server.batches) == 1 and server.paid == _NAMES


def test_a_server_that_falls_silent_ends_the_build_and_the_next_one_collects(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(BatchCalls, "sleep", lambda _, seconds: waits.append(seconds))
    with BatchServer(trouble=lambda method, *_: _BROKEN if method == "GET" else None) as server:
        with pytest.raises(Unavailable, match=r"no answer from .* stay there, and a later build collects them"):
            _kinds(server, ledger, max_retries=2)
        assert server.calls.count("GET /batches/batch_0000") == 3 and len(waits) == 2  # one look after each pause
        server.trouble = lambda *_: None
        assert _kinds(server, ledger) == _ALL_ANSWERED
    assert server.paid == _NAMES
