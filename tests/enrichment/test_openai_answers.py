"""Answers that are read, and answers that fail one tool only."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pipeline.enrichment.generator import Answer, Failure, Usage
from pipeline.enrichment.openai import OpenAIGenerator
from tests.enrichment.model_server import COST, ModelServer, Reply, answer, but, completion, error, row, tool_of
from tests.factories import make_record

_RECORDS = [make_record(name) for name in ("list_charges", "create_refund", "get_balance")]
_GOOD = json.dumps(row("create_refund"), indent=2)
_PAID = Usage(1_000, 400, 200, pytest.approx(COST))


def _said(content: Any, **fields: Any) -> Reply:
    return Reply(completion(content, **fields))


@dataclass
class _Model:
    """A server, and a generator that asks it; the client takes a while to make, so that the module shares one."""

    server: ModelServer
    generator: OpenAIGenerator

    def outcomes(self, reply: Reply) -> list[Answer | Failure]:
        """The outcomes for three tools where the second meets this reply."""
        self.server.script = but("create_refund", reply)
        return list(self.generator.generate(_RECORDS))

    def failure(self, reply: Reply) -> Failure:
        """The second tool's failure, the others having their answers."""
        first, failure, last = self.outcomes(reply)
        assert isinstance(first, Answer) and isinstance(last, Answer)
        assert isinstance(failure, Failure) and failure.tool_id == "stripe/create_refund"
        return failure


@pytest.fixture(scope="module")
def model() -> Iterator[_Model]:
    with ModelServer() as server:
        yield _Model(server, OpenAIGenerator(server.settings()))


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
    assert isinstance(outcome, Answer)
    assert outcome.expansion.user_phrases == ("please do create_refund",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"user_phrases": ["give money back"', "holds no JSON object"),
        ('{"user_phrases": ["give money back"}', "line 1 column"),
        ("I would rather not.", "holds no JSON object"),
        ("} nothing {", "holds no JSON object"),
        ("", "holds no JSON object"),
        (None, "holds no JSON object"),
        ([{"type": "text", "text": _GOOD}], "not a text"),
        ("[1, 2]", "the expansion is not an object"),
        ('{"user_phrases": "give money back"}', "user_phrases is not a list of texts"),
        ('{"when_to_use": "Now."}', "user_phrases holds no phrase"),
        ('{"user_phrases": ["a"], "score": NaN}', "NaN is not JSON"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    ],
    ids="cut broken prose reversed empty null parts array text phraseless nan deep".split(),
)
def test_an_answer_of_the_wrong_shape_is_a_failure_that_was_paid_for(
    model: _Model, content: object, message: str
) -> None:
    failure = model.failure(_said(content))
    assert failure.kind == "shape"
    assert message in failure.message
    assert failure.usage == _PAID


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
    assert failure == Failure("stripe/create_refund", "refusal", "I cannot help with refunds.", _PAID)


def test_an_answer_cut_at_the_length_limit_is_a_failure_though_it_parses(model: _Model) -> None:
    failure = model.failure(_said(_GOOD, finish_reason="length"))
    assert failure.kind == "truncated"
    assert failure.usage == _PAID


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_error_is_a_failure_after_bounded_retries(status: int) -> None:
    with ModelServer(but("create_refund", error(status, "out of memory", "server_error"))) as server:
        first, failure, last = OpenAIGenerator(server.settings(max_retries=2)).generate(_RECORDS)
    assert isinstance(first, Answer) and isinstance(last, Answer)
    assert isinstance(failure, Failure) and failure.kind == "server"
    assert "out of memory" in failure.message
    assert server.asked == ["list_charges", *["create_refund"] * 3, "get_balance"]


def test_a_server_error_that_passes_is_no_failure() -> None:
    with ModelServer(lambda body, n: error(503, "busy") if n == 1 else answer(body)) as server:
        outcomes = list(OpenAIGenerator(server.settings(max_retries=1)).generate(_RECORDS))
    assert all(isinstance(outcome, Answer) for outcome in outcomes)
    assert len(server.requests) == 4


def test_no_answer_in_time_is_a_failure_that_says_the_time() -> None:
    with ModelServer() as server:
        model = _Model(server, OpenAIGenerator(server.settings(timeout_s=0.5)))
        failure = model.failure(Reply("", delay_s=30.0))
    assert failure == Failure("stripe/create_refund", "timeout", "no answer within 0.5 s")


def test_a_connection_lost_after_an_answer_is_a_failure(model: _Model) -> None:
    assert model.failure(Reply("", drop=True)).kind == "connection"


def test_questions_asked_at_once_are_each_answered_once() -> None:
    def slow_first(body: dict[str, Any], _: int) -> Reply:
        number = int(tool_of(body)["name"].removeprefix("tool_"))
        return Reply(answer(body).body if number % 5 else "broken", delay_s=0.05 if number % 2 == 0 else 0.0)

    records = [make_record(f"tool_{number}") for number in range(30)]
    with ModelServer(slow_first) as server:
        outcomes = list(OpenAIGenerator(server.settings(concurrency=6)).generate(records))
    assert sorted(outcome.tool_id for outcome in outcomes) == sorted(record.tool_id for record in records)
    for outcome in outcomes:
        number = int(outcome.tool_id.rpartition("_")[2])
        assert isinstance(outcome, Answer) == bool(number % 5)
        if isinstance(outcome, Answer):
            assert outcome.expansion.user_phrases == (f"please do tool_{number}",)
    assert 1 < server.most_at_once <= 6
    assert sorted(server.asked) == sorted(record.name for record in records)
