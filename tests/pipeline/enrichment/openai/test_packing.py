"""Several tools in one request, each provider's turn, and tools beside their siblings."""

import json
from pathlib import Path
from typing import Any

from pipeline.enrichment import Enrichment, interleaved_by_provider
from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure, Question, TokenUsage
from pipeline.enrichment.lexicon import LexiconGenerator
from pipeline.enrichment.openai import DirectGenerator
from tests.pipeline.enrichment.catalog_run import catalog, ledger_rows, run
from tests.pipeline.enrichment.model_server import (
    COST,
    ModelServer,
    Reply,
    answer,
    completion,
    error,
    replies,
    row,
    spent,
    tools_of,
)
from tests.support.factories import make_record

_FIVE = [make_record(name) for name in "abcde"]


def _names(server: ModelServer) -> list[list[str]]:
    return [[tool["name"] for tool in tools_of(request.body)] for request in server.requests]


def _all_but(*left_out: str) -> Any:
    """Return the script of a server that answers a pack without some of its tools, and any tool alone."""

    def script(body: dict[str, Any], _: int) -> Reply:
        names = [tool["name"] for tool in tools_of(body)]
        if len(names) == 1:
            return answer(body)
        return Reply(completion(json.dumps({"answers": [row(name) for name in names if name not in left_out]})))

    return script


def test_tools_are_packed_as_many_as_the_settings_say() -> None:
    with ModelServer() as server:
        outcomes = list(replies(DirectGenerator(server.settings(tools_per_request=4)), _FIVE))
    assert _names(server) == [list("abcd"), ["e"]]
    assert [outcome.tool_id for outcome in outcomes if isinstance(outcome, GeneratedExpansion)] == [
        r.tool_id for r in _FIVE
    ]
    assert outcomes[1].expansion.user_phrases == ("please do b",)  # type: ignore[union-attr]
    schema = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert set(schema["properties"]) == {"answers"} and schema["additionalProperties"] is False


def test_a_packs_usage_is_shared_out_and_adds_up() -> None:
    with ModelServer() as server:
        outcomes = list(replies(DirectGenerator(server.settings(tools_per_request=3)), _FIVE[:3]))
    assert [outcome.usage.prompt_tokens for outcome in outcomes] == [334, 333, 333]
    assert sum((outcome.usage for outcome in outcomes), TokenUsage()) == spent(1_000, 400, 200, COST)


def test_an_answer_that_a_pack_misses_is_asked_for_alone() -> None:
    with ModelServer(_all_but("b")) as server:
        outcomes = list(replies(DirectGenerator(server.settings(tools_per_request=4)), _FIVE[:4]))
    assert _names(server) == [list("abcd"), ["b"]]
    assert all(isinstance(outcome, GeneratedExpansion) for outcome in outcomes)
    assert outcomes[1].usage == spent(250 + 1_000, 100 + 400, 50 + 200, COST / 4 + COST)
    assert sum((outcome.usage for outcome in outcomes), TokenUsage()).prompt_tokens == 2_000


def test_the_answers_of_a_pack_are_told_apart_by_their_names_and_not_by_their_order() -> None:
    def shuffled(body: dict[str, Any], _: int) -> Reply:
        rows = [row(tool["name"]) for tool in reversed(tools_of(body))]
        return Reply(completion(json.dumps({"answers": [*rows, row("stranger"), 7, {"tool": None}]})))

    with ModelServer(shuffled) as server:
        outcomes = list(replies(DirectGenerator(server.settings(tools_per_request=4)), _FIVE[:4]))
    said = {o.tool_id: o.expansion.user_phrases for o in outcomes if isinstance(o, GeneratedExpansion)}
    assert said == {f"stripe/{name}": (f"please do {name}",) for name in "abcd"}


def test_tools_of_one_name_are_not_packed_together() -> None:
    records = [make_record("a"), make_record("b"), make_record("a", "linear"), make_record("c")]
    with ModelServer() as server:
        outcomes = list(replies(DirectGenerator(server.settings(tools_per_request=4)), records))
    assert _names(server) == [["a", "b"], ["a", "c"]]
    assert len({outcome.tool_id for outcome in outcomes if isinstance(outcome, GeneratedExpansion)}) == 4


def test_a_pack_that_is_refused_fails_all_of_its_tools_and_no_other() -> None:
    with ModelServer(lambda body, n: error(400, "context is too long") if n == 1 else answer(body)) as server:
        outcomes = list(replies(DirectGenerator(server.settings(tools_per_request=3)), _FIVE))
    assert [isinstance(outcome, GenerationFailure) for outcome in outcomes] == [True] * 3 + [False] * 2


def test_as_many_packs_are_under_way_as_single_questions_would_be() -> None:
    records = [make_record(f"t{n}") for n in range(24)]
    with ModelServer(lambda body, _: Reply(answer(body).body, delay_s=0.1)) as server:
        list(replies(DirectGenerator(server.settings(tools_per_request=4, concurrency=3)), records))
    assert len(server.requests) == 6
    assert server.most_at_once == 3


def test_the_packing_is_in_the_key() -> None:
    with ModelServer() as server:
        keys = [DirectGenerator(server.settings(tools_per_request=n)).key(_FIVE[0]) for n in (1, 2, 4)]
    assert keys == [{}, {"tools_per_request": 2}, {"tools_per_request": 4}]


def test_where_the_budget_ends_early_each_provider_has_had_its_turn() -> None:
    records = [make_record(f"{p}{n}", p) for p, count in (("x", 10), ("y", 2), ("z", 2)) for n in range(count)]
    with ModelServer() as server:
        list(replies(DirectGenerator(server.settings(max_tools=4)), interleaved_by_provider(records)))
    assert server.asked == ["x0", "y0", "z0", "x1"]


def test_turns_keep_the_order_within_a_provider_and_lose_nobody() -> None:
    records = [make_record(f"{p}{n}", p) for n in range(3) for p in ("x", None, "y")]
    assert sorted(r.tool_id for r in interleaved_by_provider(records)) == sorted(r.tool_id for r in records)
    assert [r.name for r in interleaved_by_provider(records) if r.provider == "x"] == ["x0", "x1", "x2"]


def test_a_tool_is_asked_about_beside_its_siblings_as_data_and_its_better_answer_replaces_the_first(
    tmp_path: Path,
) -> None:
    def told_apart(body: dict[str, Any], _: int) -> Reply:
        message = json.loads(body["messages"][1]["content"])
        name = message["tool"]["name"]
        phrases = [f"{name}, unlike {len(message['siblings'])} others"] if "siblings" in message else ["do it"]
        return Reply(completion(json.dumps({**row(name), "user_phrases": phrases})))

    with ModelServer(told_apart) as server:
        office = catalog(*"abc")
        result = run(tmp_path, office, DirectGenerator(server.settings()), siblings={"a": ["b", "c"]})
    message = json.loads(server.requests[3].body["messages"][1]["content"])
    assert message["siblings"] == [{"name": name, "description": f"It does {name}."} for name in "bc"]
    assert message["tool"]["name"] == "a"
    assert result.written["a"].expansion.user_phrases == ("a, unlike 2 others",)
    assert result.written["b"].expansion.user_phrases == ("do it",)
    assert result.asked == {"openai": 4}


def test_the_same_siblings_are_never_paid_for_twice_and_changed_ones_are_another_question(tmp_path: Path) -> None:
    with ModelServer() as server:
        for _ in range(2):
            result = run(tmp_path, catalog(*"abc"), DirectGenerator(server.settings()), siblings={"a": ["b"]})
        assert server.asked == ["a", "b", "c", "a"]
        assert result.reused == 4
        run(tmp_path, catalog(*"abc"), DirectGenerator(server.settings()), siblings={"a": ["c"]})
        assert server.asked[4:] == ["a"]
    keys = ledger_rows(tmp_path, "SELECT count(DISTINCT expansion_key) FROM expansions WHERE tool_id = 'a'")
    assert keys == [(3,)]


def test_a_second_question_that_fails_keeps_the_first_answer(tmp_path: Path) -> None:
    with ModelServer(lambda body, n: answer(body) if n <= 2 else error(400, "no")) as server:
        result = run(tmp_path, catalog("a", "b"), DirectGenerator(server.settings()), siblings={"a": ["b"]})
    assert result.written["a"].expansion.user_phrases == ("please do a",)
    assert [(failure.tool_id, failure.kind) for failure in result.sibling_failures] == [("a", "refused")]
    assert result.failures == []


def test_only_what_a_model_wrote_is_asked_about_again(tmp_path: Path) -> None:
    with ModelServer(lambda body, n: error(400, "no") if n == 2 else answer(body)) as server:
        generators = DirectGenerator(server.settings()), LexiconGenerator()
        office = catalog("list_a", "list_b", "list_c")
        result = run(tmp_path, office, *generators, siblings={name: ["list_c"] for name in ("list_a", "list_b")})
    assert result.written["list_b"].generator == "lexicon"
    assert server.asked == ["list_a", "list_b", "list_c", "list_a"]


def test_questions_with_siblings_are_not_packed(tmp_path: Path) -> None:
    siblings = {"a": ["b"], "b": ["a"], "c": ["a"]}
    with ModelServer() as server:
        settings = server.settings(tools_per_request=4)
        run(tmp_path, catalog(*"abc"), DirectGenerator(settings), siblings=siblings, into=Enrichment())
    assert _names(server) == [list("abc"), ["a"], ["b"], ["c"]]


def test_what_a_batch_holds_is_not_asked_one_by_one(tmp_path: Path) -> None:
    with ModelServer() as server:
        generator = DirectGenerator(server.settings(), awaited={"key of b"})
        questions = [Question(f"key of {name}", make_record(name)) for name in "abc"]
        outcomes = [outcome for group in generator.generate(questions) for outcome in group]
        assert server.asked == ["a", "c"]
    (waiting,) = [outcome for outcome in outcomes if isinstance(outcome, GenerationFailure)]
    assert (waiting.tool_id, waiting.kind, waiting.postponed) == ("stripe/b", "waiting", True)
    assert "--batch" in waiting.message
