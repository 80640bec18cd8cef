"""Answers that are read, and answers that fail one tool only."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, TokenUsage
from pipeline.enrichment.openai import DirectGenerator
from tests.pipeline.enrichment.model_server import (
    COST,
    ModelServer,
    Reply,
    answer,
    but,
    completion,
    error,
    replies,
    row,
    spent,
    tool_of,
)
from tests.support.factories import make_record

_RECORDS = [make_record(name) for name in ("list_charges", "create_refund", "get_balance")]
_GOOD = json.dumps(row("create_refund"), indent=2)
_PAID = spent(1_000, 400, 200, COST)
_PAID_TWICE = spent(2_000, 800, 400, 2 * COST)


def _said(content: Any, **fields: Any) -> Reply:
    return Reply(completion(content, **fields))


@dataclass
class _Model:
    """A server and a generator that asks it. The client is slow to create, so the module shares one."""

    server: ModelServer
    generator: DirectGenerator

    def outcomes(self, reply: Reply) -> list[GeneratedExpansion | GenerationFailure]:
        """Return the outcomes for three tools of which the second meets this reply."""
        self.server.script = but("create_refund", reply)
        return list(replies(self.generator, _RECORDS))

    def failure(self, reply: Reply) -> GenerationFailure:
        """Return the second tool's failure, where the others have their answers."""
        first, failure, last = self.outcomes(reply)
        assert isinstance(first, GeneratedExpansion) and isinstance(last, GeneratedExpansion)
        assert isinstance(failure, GenerationFailure) and failure.tool_id == "stripe/create_refund"
        return failure


@pytest.fixture(scope="module")
def model() -> Iterator[_Model]:
    with ModelServer() as server:
        yield _Model(server, DirectGenerator(server.settings()))


@pytest.mark.parametrize(
    "content",
    [
        _GOOD,
        f"\n\n{_GOOD}\n",
        f"```json\n{_GOOD}\n```",
        f"Here is the expansion you asked for:\n```\n{_GOOD}\n```\nShall I go on?",
        f"<think>A refund, so money back.</think>{_GOOD}",
        f"Sure! {json.dumps({**row('create_refund'), 'note': 'a } and a { in a text'})} Anything else?",
    ],
    ids="bare spaced fenced both thought prose".split(),
)
def test_json_is_read_bare_fenced_and_inside_prose(model: _Model, content: str) -> None:
    outcome = model.outcomes(_said(content))[1]
    assert isinstance(outcome, GeneratedExpansion)
    assert outcome.expansion.user_phrases == ("please do create_refund",)


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        ('{"user_phrases": ["give money back"', "shape", "holds no JSON object that can be read: Expecting ','"),
        ('{"user_phrases": ["give money back"}', "shape", "line 1 column"),
        ("I would rather not.", "shape", "the answer holds no JSON object"),
        ("} nothing {", "shape", "holds no JSON object"),
        ("", "empty", "the answer is empty"),
        (None, "empty", "the answer is empty"),
        (" \n", "empty", "the answer holds no JSON object"),
        ("<think>Nothing comes to mind.</think>", "empty", "the answer holds no JSON object"),
        ([{"type": "text", "text": _GOOD}], "shape", "not a text"),
        ("[1, 2]", "shape", "the answer holds no JSON object"),
        ('{"phrases": ["give money back"]}', "shape", "it has none of the keys that were asked for: phrases"),
        ('{"user_phrases": "give money back"}', "shape", "user_phrases is not a list of texts"),
        ('{"when_to_use": "Now."}', "empty", "user_phrases holds no phrase"),
        ('{"user_phrases": [" ", ""]}', "shape", "user_phrases holds no phrase"),
        ('{"user_phrases": ["a"], "score": NaN}', "shape", "NaN is not JSON"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "shape", "nested too deeply"),
        (json.dumps(row("list_charges")), "mismatch", "the answer is about 'list_charges', not 'create_refund'"),
        (json.dumps({**row("x"), "tool": 7}), "mismatch", "the answer is about '7'"),
    ],
    ids=(
        "cut broken prose reversed empty null blank thought parts array keyless text phraseless hollow nan deep other "
        "number"
    ).split(),
)
def test_an_answer_that_cannot_be_used_is_asked_for_once_more_and_both_were_paid_for(
    model: _Model, content: object, kind: str, message: str
) -> None:
    before = len(model.server.requests)
    failure = model.failure(_said(content))
    assert failure.kind == kind
    assert message in failure.message
    assert failure.usage == _PAID_TWICE
    assert len(model.server.requests) - before == 4  # three tools, one of them twice


def test_the_second_question_is_in_the_next_output_mode_and_the_next_tool_is_not() -> None:
    with ModelServer(lambda body, n: _said("broken") if n == 1 else answer(body)) as server:
        first, *rest = replies(DirectGenerator(server.settings()), _RECORDS)
    assert isinstance(first, GeneratedExpansion) and first.usage == _PAID_TWICE
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in rest)
    formats = [request.body["response_format"]["type"] for request in server.requests]
    assert formats == ["json_schema", "json_object", "json_schema", "json_schema"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "upstream is overloaded"}}, "upstream is overloaded"),
        (completion(_GOOD, choices=[]), "holds no message"),
        (completion(_GOOD, choices=None), "holds no message"),
        (completion(_GOOD, choices=[{"index": 0, "finish_reason": "stop"}]), "holds no message"),
        ([1, 2], "holds no message"),
        ("{cut", "line 1 column"),
    ],
    ids="error choiceless null messageless array broken".split(),
)
def test_a_200_without_a_completion_is_a_failure(model: _Model, body: object, message: str) -> None:
    failure = model.failure(Reply(body))
    assert failure.kind == "shape"
    assert message in failure.message


def test_a_page_of_html_is_a_failure_that_shows_its_beginning(model: _Model) -> None:
    failure = model.failure(Reply("<html>Welcome</html>" + " " * 1_000, content_type="text/html"))
    assert failure.kind == "shape"
    assert "<html>Welcome</html>" in failure.message
    assert len(failure.message) < 300


def test_a_refusal_is_a_failure_in_the_models_words(model: _Model) -> None:
    failure = model.failure(_said(None, message={"refusal": "I cannot help with refunds."}))
    assert failure == GenerationFailure("stripe/create_refund", "refusal", "I cannot help with refunds.", _PAID)


def test_an_answer_cut_at_the_length_limit_is_a_failure_though_it_parses(model: _Model) -> None:
    failure = model.failure(_said(_GOOD, finish_reason="length"))
    assert failure.kind == "truncated"
    assert "max_completion_tokens" in failure.message
    assert failure.usage == _PAID


@pytest.mark.parametrize("status", [500, 503])
def test_a_server_error_is_a_failure_after_bounded_retries(status: int) -> None:
    with ModelServer(but("create_refund", error(status, "out of memory", "server_error"))) as server:
        first, failure, last = replies(DirectGenerator(server.settings(max_retries=2)), _RECORDS)
    assert isinstance(first, GeneratedExpansion) and isinstance(last, GeneratedExpansion)
    assert isinstance(failure, GenerationFailure) and failure.kind == "server"
    assert "out of memory" in failure.message
    assert server.asked == ["list_charges", *["create_refund"] * 3, "get_balance"]


def test_a_server_error_that_passes_is_no_failure() -> None:
    with ModelServer(lambda body, n: error(503, "busy") if n == 1 else answer(body)) as server:
        outcomes = list(replies(DirectGenerator(server.settings(max_retries=1)), _RECORDS))
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in outcomes)
    assert len(server.requests) == 4


def test_no_answer_in_time_is_a_failure_that_says_the_time() -> None:
    with ModelServer() as server:
        model = _Model(server, DirectGenerator(server.settings(timeout_s=0.5)))
        failure = model.failure(Reply("", delay_s=30.0))
    assert (failure.tool_id, failure.kind) == ("stripe/create_refund", "timeout")
    assert failure.message == "no answer within 0.5 s"
    # The server may have computed an answer, and billed it: what was set aside is counted as lost, by half.
    assert failure.usage == TokenUsage(unconfirmed_usd=failure.usage.unconfirmed_usd)
    assert 0.0 < failure.usage.unconfirmed_usd < 0.002


def test_a_connection_lost_after_an_answer_is_a_failure(model: _Model) -> None:
    assert model.failure(Reply("", drop=True)).kind == "connection"


def test_questions_asked_at_once_are_each_answered_once() -> None:
    def slow_first(body: dict[str, Any], _: int) -> Reply:
        number = int(tool_of(body)["name"].removeprefix("tool_"))
        said = answer(body) if number % 5 else error(400, "no")
        return Reply(said.body, said.status, delay_s=0.05 if number % 2 == 0 else 0.0)

    records = [make_record(f"tool_{number}") for number in range(30)]
    with ModelServer(slow_first) as server:
        outcomes = list(replies(DirectGenerator(server.settings(concurrency=6)), records))
    assert sorted(outcome.tool_id for outcome in outcomes) == sorted(record.tool_id for record in records)
    for outcome in outcomes:
        number = int(outcome.tool_id.rpartition("_")[2])
        assert isinstance(outcome, GeneratedExpansion) == bool(number % 5)
        if isinstance(outcome, GeneratedExpansion):
            assert outcome.expansion.user_phrases == (f"please do tool_{number}",)
    assert 1 < server.most_at_once <= 6
    assert sorted(server.asked) == sorted(record.name for record in records)
