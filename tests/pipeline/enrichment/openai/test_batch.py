"""Questions asked by the Batch API, and the cost of their answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment.chain import generators
from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Outcome, Question
from pipeline.enrichment.openai import BatchGenerator, DirectGenerator
from pipeline.enrichment.openai.answers import OutputMode
from pipeline.ledger import Ledger
from pipeline.settings import CatalogSettings
from tests.pipeline.enrichment.batch_server import BatchServer, Course, Lines
from tests.pipeline.enrichment.model_server import COST, Reply, answer, but, completion, replies, row
from tests.support.factories import make_record

_RECORDS = [make_record(name) for name in ("list_charges", "create_refund", "get_balance")]
_NAMES = sorted(record.name for record in _RECORDS)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Share one ledger: each test has a server of its own, and opening a ledger takes longer than a test."""
    with Ledger.open(tmp_path_factory.mktemp("workspace")) as opened:
        yield opened


def _outcomes(server: BatchServer, ledger: Ledger, **settings: Any) -> dict[str, Outcome]:
    generator = BatchGenerator(server.settings(**settings), ledger)
    outcomes = list(replies(generator, _RECORDS))
    assert len(outcomes) == len({outcome.tool_id for outcome in outcomes}) == len(_RECORDS)
    return {outcome.tool_id.partition("/")[2]: outcome for outcome in outcomes}


def _kinds(outcomes: dict[str, Outcome]) -> dict[str, str]:
    return {name: outcome.kind if isinstance(outcome, GenerationFailure) else "" for name, outcome in outcomes.items()}


def test_all_questions_go_in_one_file_and_each_is_answered_once(ledger: Ledger) -> None:
    with BatchServer() as server:
        outcomes = _outcomes(server, ledger)
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in outcomes.values())
    assert server.paid == _NAMES
    assert len(server.batches) == 1
    assert [line["custom_id"] for line in server.lines()] == [record.tool_id for record in _RECORDS]
    assert ledger.unsettled_batches(server.base_url + "/", "gpt-5-mini") == []


def test_a_line_asks_what_a_question_by_itself_would_ask(ledger: Ledger) -> None:
    with BatchServer() as server:
        settings = server.settings(parameters={"temperature": 0, "top_k": 20}, tools_per_request=4)
        list(replies(BatchGenerator(settings, ledger), _RECORDS[:1]))
    direct = DirectGenerator(settings)
    question = Question("", _RECORDS[0])
    assert server.lines()[0]["body"] == direct.requests.body([question], OutputMode.JSON_SCHEMA)
    assert server.lines()[0]["body"]["response_format"]["type"] == "json_schema"
    assert BatchGenerator(settings, ledger).key(_RECORDS[0]) == direct.key(_RECORDS[0])


def test_answers_belong_to_their_custom_id_whatever_their_order(ledger: Ledger) -> None:
    with BatchServer() as server:
        outcomes = _outcomes(server, ledger)
        output = server.files[next(iter(server.batches.values()))["output_file_id"]]
    assert json.loads(output.splitlines()[0])["custom_id"] == _RECORDS[-1].tool_id
    for name, outcome in outcomes.items():
        assert isinstance(outcome, GeneratedExpansion)
        assert outcome.expansion.user_phrases == (f"please do {name}",)


def test_an_answer_costs_the_share_of_the_price_that_the_table_says(ledger: Ledger) -> None:
    price = {"input": 0.25, "cached": 0.025, "output": 2.0}
    with BatchServer() as server:
        half = _outcomes(server, ledger)["get_balance"]
        quarter = _outcomes(server, ledger, prices={"gpt-5-mini": {**price, "batch": 0.25}})["get_balance"]
        unknown = _outcomes(server, ledger, prices={})["get_balance"]
    assert half.usage.cost_usd == pytest.approx(COST / 2)
    assert (half.usage.prompt_tokens, half.usage.cached_tokens, half.usage.completion_tokens) == (1_000, 400, 200)
    assert quarter.usage.cost_usd == pytest.approx(COST / 4)
    assert unknown.usage.cost_usd is None


def test_a_file_holds_as_many_requests_as_settings_allow(ledger: Ledger) -> None:
    with BatchServer() as server:
        _outcomes(server, ledger, batch={"max_requests": 2})
    assert [len(server.lines(number)) for number in range(len(server.batches))] == [2, 1]
    assert server.paid == _NAMES


def test_a_file_is_no_larger_than_settings_allow(ledger: Ledger) -> None:
    with BatchServer() as server:
        _outcomes(server, ledger)
        line = len(server.files["file-0000"]) // 3 + 200
        _outcomes(server, ledger, batch={"max_bytes": 2 * line})
    inputs = [server.files[batch["input_file_id"]] for batch in list(server.batches.values())[1:]]
    assert [len(data.splitlines()) for data in inputs] == [2, 1]
    assert all(len(data) <= 2 * line for data in inputs)


@pytest.mark.parametrize(
    ("limit", "said"),
    [({"max_tools": 2}, "enrichment.max_tools"), ({"max_cost_usd": 0.005}, "enrichment.max_cost_usd")],
)
def test_what_the_budget_has_no_room_for_is_not_put_into_a_file(
    ledger: Ledger, limit: dict[str, Any], said: str
) -> None:
    # A question is estimated at ~1,600 tokens in and at most 800 out: (1,600 x .25 + 800 x 2) / 1e6 / 2 = $0.001.
    if "max_cost_usd" in limit:
        limit = {"max_cost_usd": 0.0025}
    with BatchServer() as server:
        outcomes = _outcomes(server, ledger, **limit)
    assert _kinds(outcomes) == {"list_charges": "", "create_refund": "", "get_balance": "budget"}
    failure = outcomes["get_balance"]
    assert isinstance(failure, GenerationFailure)
    assert said in failure.message and failure.postponed
    assert server.paid == ["create_refund", "list_charges"]


def test_answers_give_back_what_was_set_aside_for_them(ledger: Ledger) -> None:
    with BatchServer() as server:
        bound = DirectGenerator(server.settings()).requests.highest_cost([Question("", _RECORDS[0])], batch=True)
        assert bound > COST  # about $0.001 set aside, $0.00028 spent
        generator = BatchGenerator(server.settings(max_cost_usd=2.9 * bound), ledger)
        for number in range(2):
            outcomes = replies(generator, [make_record(f"tool_{number}_{i}") for i in range(2)])
            assert all(isinstance(outcome, GeneratedExpansion) for outcome in outcomes)


def test_what_is_not_ready_in_time_is_left_to_a_later_build(ledger: Ledger) -> None:
    with BatchServer(courses=[Course(steps=["in_progress"])]) as server:
        outcomes = _outcomes(server, ledger, wait_s=0.02)
        for outcome in outcomes.values():
            assert isinstance(outcome, GenerationFailure)
            assert outcome.kind == "waiting" and outcome.postponed
            assert outcome.message.startswith("in batch batch_0000 since 20")
            assert outcome.message.endswith(" UTC: a later build collects it")
        server.proceed("completed")
        assert set(_kinds(_outcomes(server, ledger)).values()) == {""}
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


def test_a_batch_tells_how_it_stands_when_that_changes(ledger: Ledger) -> None:
    notes: list[str] = []
    steps = ["in_progress", "in_progress", "in_progress", "finalizing", "completed"]
    with BatchServer(courses=[Course(steps=steps)]) as server:
        list(replies(BatchGenerator(server.settings(), ledger, note=notes.append), _RECORDS))
    assert notes == ["batch_0000: in_progress, 0 of 3 done", "batch_0000: finalizing, 3 of 3 done"]


def test_of_two_lines_of_a_question_the_first_counts_and_strange_lines_are_noted(ledger: Ledger) -> None:
    def spoil(lines: Lines) -> Lines:
        again = json.loads(json.dumps(lines[0]))
        again["response"]["body"]["choices"][0]["message"]["content"] = json.dumps(
            {**row("list_charges"), "user_phrases": ["the second answer"]}
        )
        strange = {**again, "custom_id": "of somebody else"}
        return [strange, *lines, again, {"no": "line"}, ["list"]]

    notes: list[str] = []
    with BatchServer(courses=[Course(spoil=spoil)]) as server:
        outcomes = list(replies(BatchGenerator(server.settings(), ledger, note=notes.append), _RECORDS))
    assert [outcome.expansion.user_phrases for outcome in outcomes if isinstance(outcome, GeneratedExpansion)] == [
        (f"please do {record.name}",) for record in _RECORDS
    ]
    assert notes[-1] == "batch_0000: 4 lines of its results answer no question of it"


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(completion(None, message={"refusal": "I cannot help with that."})), "refusal"),
        (Reply(completion("{", finish_reason="length")), "truncated"),
        (Reply(completion(json.dumps(row("delete_account")))), "mismatch"),
        (Reply(completion("no JSON at all")), "shape"),
        (Reply({"detail": "not a completion"}), "shape"),
        (Reply({"error": {"message": "Invalid 'messages'", "code": None}}, 400), "refused"),
    ],
)
def test_an_answer_that_is_no_use_is_a_failure_with_what_it_cost(ledger: Ledger, reply: Reply, kind: str) -> None:
    with BatchServer(but("get_balance", reply)) as server:
        outcomes = _outcomes(server, ledger)
    assert _kinds(outcomes) == {"list_charges": "", "create_refund": "", "get_balance": kind}
    cost = COST / 2 if "usage" in reply.body else None if reply.status == 200 else 0.0
    counted = outcomes["get_balance"].usage.cost_usd
    assert counted == (pytest.approx(cost) if cost else 0.0)
    assert len(server.batches) == 1


@pytest.mark.parametrize(("mode", "kind"), [("direct", DirectGenerator), ("batch", BatchGenerator)])
def test_the_mode_says_how_a_model_is_asked(ledger: Ledger, tmp_path: Path, mode: str, kind: type) -> None:
    settings = {"api_key": "sk-1", "mode": mode}
    catalog = CatalogSettings(name="c", folder=tmp_path, source=[{"path": "tools.json"}], enrichment=settings)
    assert type(generators(catalog, ledger, print)[0]) is kind


def test_without_questions_nobody_is_asked(ledger: Ledger) -> None:
    with BatchServer() as server:
        assert list(BatchGenerator(server.settings(), ledger).generate([])) == []
    assert server.calls == []


def test_answers_come_in_groups(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.enrichment.openai.batch.collector._GROUP_SIZE", 2)
    questions = [Question(record.tool_id, record) for record in _RECORDS]
    with BatchServer(answer) as server:
        groups = list(BatchGenerator(server.settings(), ledger).generate(questions))
    assert [len(group) for group in groups] == [2, 1]
