"""Answers that are read, and answers that fail one tool only."""

import json
from threading import Event, Timer
from typing import Any

import pytest

from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Question, TokenUsage
from pipeline.enrichment.openai import DirectGenerator
from pipeline.enrichment.openai.answers import read_answer
from pipeline.enrichment.openai.chat import Completion
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
from tests.support.waiting import until

_RECORDS = [make_record(name) for name in ("list_charges", "create_refund", "get_balance")]
_GOOD = json.dumps(row("create_refund"), indent=2)


def _read(content: object) -> Any:
    question = Question("key", make_record("create_refund"))
    return read_answer(Completion(content), question, TokenUsage())


@pytest.mark.parametrize(
    "content",
    [
        _GOOD,
        f"\n\n{_GOOD}\n",
        f"```json\n{_GOOD}\n```",
        f"Here is the expansion you asked for:\n```\n{_GOOD}\n```\nShall I go on?",
        f"<think>A refund, so money back.</think>{_GOOD}",
        f"Sure! {json.dumps({**row('create_refund'), 'note': 'a } and a { in a text'})} Anything else?",
        json.dumps({"answers": [row("create_refund")]}),
        json.dumps(row("Create_Refund")),
        json.dumps({**row("create_refund"), "tool": None}),
    ],
    ids="bare spaced fenced both thought prose list spelling nameless".split(),
)
def test_json_is_read_bare_fenced_and_inside_prose(content: str) -> None:
    said = _read(content)
    assert isinstance(said, GeneratedExpansion)
    assert said.expansion.user_phrases[0].casefold() == "please do create_refund"


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
        ("{" * 100_000, "shape", "holds no JSON object"),  # some beginnings are tried, and no more
        (json.dumps(row("list_charges")), "mismatch", "the answer is about 'list_charges', not 'create_refund'"),
        (json.dumps({**row("x"), "tool": 7}), "mismatch", "the answer is about '7'"),
    ],
    ids=(
        "cut broken prose reversed empty null blank thought parts array keyless text phraseless hollow nan deep braces "
        "other number"
    ).split(),
)
def test_an_answer_that_cannot_be_used_says_why(content: object, kind: str, message: str) -> None:
    said = _read(content)
    assert isinstance(said, GenerationFailure) and said.kind == kind
    assert message in said.message


def test_the_second_question_is_in_the_next_output_mode_and_the_next_tool_is_not() -> None:
    with ModelServer(lambda body, n: Reply(completion("broken")) if n == 1 else answer(body)) as server:
        first, *rest = replies(DirectGenerator(server.settings()), _RECORDS)
    assert isinstance(first, GeneratedExpansion) and first.usage == spent(2_000, 800, 400, 2 * COST)
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in rest)
    formats = [request.body["response_format"]["type"] for request in server.requests]
    assert formats == ["json_schema", "json_object", "json_schema", "json_schema"]


def test_nobody_is_asked_again_once_the_build_is_stopped_and_the_first_answer_is_kept() -> None:
    stop = Event()
    with ModelServer(lambda *_: Reply(completion("broken"))) as server:
        generator = DirectGenerator(server.settings(requests_per_minute=10))  # it would wait for six seconds
        timer = Timer(0.3, stop.set)
        timer.start()
        ((outcome,),) = generator.generate([generator.question(_RECORDS[0], "")], stop)
        timer.join()
    assert isinstance(outcome, GenerationFailure)
    assert outcome.kind == "shape" and outcome.usage == spent(1_000, 400, 200, COST) and len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply({"error": {"message": "upstream is overloaded"}}), "upstream is overloaded"),
        (Reply(completion(_GOOD, choices=[])), "holds no message"),
        (Reply(completion(_GOOD, choices=None)), "holds no message"),
        (Reply(completion(_GOOD, choices=[{"index": 0, "finish_reason": "stop"}])), "holds no message"),
        (Reply([1, 2]), "holds no message"),
        (Reply("{cut"), "{cut"),
        (Reply("<html>Welcome</html>" + " " * 1_000, content_type="text/html"), "<html>Welcome</html>"),
    ],
    ids="error choiceless null messageless array broken html".split(),
)
def test_a_200_without_a_completion_is_one_tools_failure_that_shows_its_beginning(reply: Reply, message: str) -> None:
    with ModelServer(but("create_refund", reply)) as server:
        first, failure, last = replies(DirectGenerator(server.settings()), _RECORDS)
    assert isinstance(first, GeneratedExpansion) and isinstance(last, GeneratedExpansion)
    assert isinstance(failure, GenerationFailure) and failure.kind == "shape"
    assert message in failure.message and len(failure.message) < 300


@pytest.mark.parametrize(
    ("reply", "kind", "timeout_s"),
    [(Reply("", delay_s=30.0), "timeout", 0.1), (Reply("", drop=True), "connection", 20.0)],
    ids=["late", "lost"],
)
def test_what_a_server_may_bill_for_an_answer_that_never_came_is_counted_by_half(
    reply: Reply, kind: str, timeout_s: float
) -> None:
    with ModelServer(but("create_refund", reply)) as server:
        *_, failure = replies(DirectGenerator(server.settings(timeout_s=timeout_s)), _RECORDS[kind == "timeout" : 2])
    assert isinstance(failure, GenerationFailure) and failure.kind == kind
    assert failure.usage == TokenUsage(unconfirmed_usd=failure.usage.unconfirmed_usd)
    assert 0.0 < failure.usage.unconfirmed_usd < 0.002


def test_questions_asked_at_once_are_each_answered_once() -> None:
    def first_last(body: dict[str, Any], _: int) -> Reply:
        number = int(tool_of(body)["name"].removeprefix("tool_"))
        assert number or until(lambda: len(server.requests) == len(records))
        return answer(body) if number % 5 else error(400, "no")

    records = [make_record(f"tool_{number}") for number in range(30)]
    with ModelServer(first_last) as server:
        outcomes = list(replies(DirectGenerator(server.settings(concurrency=6)), records))
    assert sorted(outcome.tool_id for outcome in outcomes) == sorted(record.tool_id for record in records)
    for outcome in outcomes:
        number = int(outcome.tool_id.rpartition("_")[2])
        assert isinstance(outcome, GeneratedExpansion) == bool(number % 5)
        if isinstance(outcome, GeneratedExpansion):
            assert outcome.expansion.user_phrases == (f"please do tool_{number}",)
    assert 1 < server.most_at_once <= 6
    assert sorted(server.asked) == sorted(record.name for record in records)
