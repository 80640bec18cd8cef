"""The ends of batches and of their lines, and the questions that are submitted again."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from pipeline.enrichment.generator import GenerationFailure
from pipeline.enrichment.openai import BatchGenerator
from pipeline.errors import RunAborted, Unavailable
from pipeline.ledger import Ledger
from tests.pipeline.enrichment.batch_server import BatchServer, Course
from tests.pipeline.enrichment.model_server import COST, Reply, Script, answer, error, replies, tool_of
from tests.support.factories import make_record

_RECORDS = [make_record(f"tool_{number}") for number in range(4)]
_NAMES = [record.name for record in _RECORDS]
_BUSY = error(429, "Rate limit reached", code="rate_limit_exceeded")
_BROKEN = error(500, "The server had an error while processing your request.")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Share one ledger: each test has a server of its own, and opening a ledger takes longer than a test."""
    with Ledger.open(tmp_path_factory.mktemp("workspace")) as opened:
        yield opened


def _kinds(server: BatchServer, ledger: Ledger, **settings: Any) -> dict[str, str]:
    outcomes = list(replies(BatchGenerator(server.settings(**settings), ledger), _RECORDS))
    assert len(outcomes) == len(_RECORDS)
    return {o.tool_id.partition("/")[2]: o.kind if isinstance(o, GenerationFailure) else "" for o in outcomes}


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


@pytest.mark.parametrize("end", ["expired", "cancelled"])
def test_of_a_batch_that_ended_early_the_answers_are_used_and_the_rest_is_asked_again(ledger: Ledger, end: str) -> None:
    with BatchServer(courses=[Course(["in_progress", end], answered=3)]) as server:
        assert set(_kinds(server, ledger).values()) == {""}
    assert _asked(server) == [_NAMES, _NAMES[3:]]
    assert server.paid == _NAMES


def test_what_expires_twice_is_left_to_the_next_build(ledger: Ledger) -> None:
    expired = Course(["expired"], answered=0)
    with BatchServer(courses=[expired, expired]) as server:
        assert set(_kinds(server, ledger).values()) == {"timeout"}
        assert set(_kinds(server, ledger).values()) == {""}
    assert server.paid == _NAMES


def test_a_missing_line_is_asked_again(ledger: Ledger) -> None:
    with BatchServer(courses=[Course(spoil=lambda lines: lines[1:])]) as server:
        assert set(_kinds(server, ledger).values()) == {""}
    assert _asked(server) == [_NAMES, _NAMES[:1]]


@pytest.mark.parametrize(("reply", "kind"), [(_BUSY, "rate"), (_BROKEN, "server")])
def test_a_line_that_met_a_busy_server_is_asked_once_more(ledger: Ledger, reply: Reply, kind: str) -> None:
    with BatchServer(_first(1, "tool_2", reply)) as server:
        assert set(_kinds(server, ledger).values()) == {""}
    assert _asked(server) == [_NAMES, ["tool_2"]]
    with BatchServer(_first(2, "tool_2", reply)) as server:
        assert _kinds(server, ledger) == {**dict.fromkeys(_NAMES, ""), "tool_2": kind}
    assert _asked(server) == [_NAMES, ["tool_2"]]


def test_a_refused_response_format_is_asked_for_in_the_next_output_mode(ledger: Ledger) -> None:
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


def test_a_format_that_the_last_output_mode_does_not_mend_is_a_refusal(ledger: Ledger) -> None:
    with BatchServer(lambda *_: error(400, "guided decoding is broken")) as server:
        assert set(_kinds(server, ledger).values()) == {"refused"}
    assert len(server.batches) == 3


def test_a_model_that_no_batch_can_use_aborts_with_a_way_out_and_is_asked_again_later(ledger: Ledger) -> None:
    with BatchServer(models=()) as server:
        with pytest.raises(RunAborted) as aborted:
            _kinds(server, ledger)
        server.models = ("gpt-5-mini",)
        assert set(_kinds(server, ledger).values()) == {""}
    said = str(aborted.value)
    assert "The provided model 'gpt-5-mini' is not supported" in said and server.base_url in said
    assert "OPENAI_API_KEY" in said and "enrichment.model" in said and "--generator lexicon" in said
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


def test_a_full_queue_takes_the_second_batch_once_the_first_has_ended(ledger: Ledger) -> None:
    with BatchServer(queue=3) as server:
        assert set(_kinds(server, ledger, batch={"max_requests": 2}).values()) == {""}
    assert server.paid == _NAMES
    assert [batch["status"] for batch in server.batches.values()] == ["completed", "failed", "completed"]


def test_a_queue_that_stays_full_postpones_the_questions(ledger: Ledger) -> None:
    with BatchServer(queue=3) as server:
        outcomes = list(replies(BatchGenerator(server.settings(), ledger), _RECORDS))
    for outcome in outcomes:
        assert isinstance(outcome, GenerationFailure)
        assert outcome.postponed
        assert "Enqueued token limit reached" in outcome.message and "enrichment.batch smaller" in outcome.message
    assert len(server.batches) == 1


@pytest.mark.parametrize(
    "reply", [error(401, "Incorrect API key provided"), error(404, "Invalid URL (POST /v1/files)")]
)
def test_a_server_that_takes_no_file_aborts_with_a_way_out(ledger: Ledger, reply: Reply) -> None:
    with BatchServer(trouble=lambda *_: reply) as server, pytest.raises(RunAborted) as aborted:
        _kinds(server, ledger, max_retries=3)
    assert reply.body["error"]["message"] in str(aborted.value)
    assert "cannot be used" in str(aborted.value) and "Check OPENAI_API_KEY" in str(aborted.value)
    assert len(server.calls) == 1


def test_a_file_that_the_server_does_not_find_at_once_is_tried_again(ledger: Ledger) -> None:
    missing = error(400, "Cannot find file file-0000, or project does not have access to it.")

    def trouble(method: str, path: str, count: int) -> Reply | None:
        return missing if (method, path, count) == ("POST", "/batches", 0) else None

    with BatchServer(trouble=trouble) as server:
        assert set(_kinds(server, ledger, max_retries=2).values()) == {""}
    assert server.paid == _NAMES


def test_a_key_that_every_line_was_refused_for_aborts(ledger: Ledger) -> None:
    with BatchServer(lambda *_: error(401, "Your key was revoked", code="invalid_api_key")) as server:
        with pytest.raises(RunAborted, match="Your key was revoked"):
            _kinds(server, ledger)
        assert ledger.unsettled_batches(f"{server.base_url}/", "gpt-5-mini") == []


def test_network_trouble_while_a_batch_is_looked_at_passes(ledger: Ledger) -> None:
    def trouble(method: str, path: str, count: int) -> Reply | None:
        return [Reply(None, drop=True), _BROKEN, _BUSY, None][min(count, 3)] if method == "GET" else None

    with BatchServer(trouble=trouble) as server:
        assert set(_kinds(server, ledger, max_retries=3).values()) == {""}
    assert len(server.batches) == 1


def test_a_server_that_falls_silent_ends_the_build_and_the_next_one_collects(ledger: Ledger) -> None:
    with BatchServer(trouble=lambda method, *_: _BROKEN if method == "GET" else None) as server:
        with pytest.raises(Unavailable, match=r"no answer from .* stay there, and a later build collects them"):
            _kinds(server, ledger, max_retries=2)
        assert server.calls.count("GET /batches/batch_0000") == 3
        server.trouble = lambda *_: None
        assert set(_kinds(server, ledger).values()) == {""}
    assert server.paid == _NAMES


def test_a_result_file_that_breaks_off_is_read_again_whole(ledger: Ledger) -> None:
    def trouble(method: str, path: str, count: int) -> Reply | None:
        return Reply("x" * 5_000, reset_after=2_000) if path.endswith("/content") and count == 0 else None

    with BatchServer(trouble=trouble) as server:
        assert set(_kinds(server, ledger, max_retries=1).values()) == {""}
    assert sum(call.endswith("/content") for call in server.calls) == 2
    assert len(server.batches) == 1


def test_the_money_of_a_question_is_set_aside_once_however_often_it_is_handed_in(ledger: Ledger) -> None:
    with BatchServer(_first(1, "tool_2", _BUSY)) as server:
        # Four tools and no fifth; half as much again as four questions are set aside for.
        kinds = _kinds(server, ledger, max_tools=4, max_cost_usd=4 * 0.0015)
    assert set(kinds.values()) == {""}
    assert 4 * COST / 2 < 4 * 0.0015
