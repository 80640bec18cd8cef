"""Over any sequence of nights, no question is paid for twice and no tool loses its words."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import Generator, prompt
from pipeline.enrichment.chain import ledger_only
from pipeline.enrichment.context import TextVerdict
from pipeline.enrichment.openai import DirectGenerator
from pipeline.records import Catalog, catalog_records
from router.expansion import Expansion
from router.record import ToolRecord
from tests.pipeline.enrichment.catalog_run import run
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion, error, row, tool_of
from tests.support.factories import make_raw

_NAMES = ("a", "b", "c", "d")


def _catalog(versions: dict[str, int]) -> Catalog:
    return catalog_records(make_raw(name, description=f"It does {name}, {n}.") for name, n in versions.items())


@pytest.mark.parametrize(
    ("seed", "nights"), [(0, 6), *(pytest.param(seed, 12, marks=pytest.mark.nightly) for seed in range(7))]
)
def test_no_question_is_paid_for_twice_and_no_tool_loses_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, nights: int
) -> None:
    chance = random.Random(seed)
    versions = dict.fromkeys(_NAMES, 0)
    paid: set[tuple[Any, ...]] = set()
    first_version = prompt.PROMPT_VERSION

    def answers(body: dict[str, Any], _: int) -> Reply:
        if chance.random() < 0.3:
            return error(500, "overloaded")
        question = (prompt.PROMPT_VERSION, body["model"], body["messages"][1]["content"])
        assert question not in paid
        paid.add(question)
        name = tool_of(body)["name"]
        return Reply(completion(json.dumps({**row(name), "user_phrases": [f"{name} {len(paid)}"]})))

    written: set[str] = set()
    with ModelServer(answers) as server:
        for _ in range(nights):
            versions[chance.choice(_NAMES)] = chance.randrange(3)
            monkeypatch.setattr(prompt, "PROMPT_VERSION", first_version + chance.randrange(2))
            settings = server.settings(model=chance.choice(["m1", "m2"]), max_tools=chance.choice([None, 1, 2]))
            chain: list[Generator] = [DirectGenerator(settings)]
            if chance.random() < 0.3:
                chain = ledger_only(chain, "unasked", "it is down")
            result = run(tmp_path, _catalog(versions), *chain)
            by_model = {tool_id for tool_id, w in result.written.items() if w.generator == "openai"}
            assert written <= by_model
            written |= by_model
            own = {tool_id for tool_id, w in result.written.items() if w.generator == "openai" and not w.stale}
            failed = {failure.tool_id for failure in result.failures}
            assert own.isdisjoint(failed) and own | failed == set(_NAMES)
    assert len(written) > 1


def _down(server: ModelServer, **settings: Any) -> list[Generator]:
    return ledger_only([DirectGenerator(server.settings(**settings))], "unasked", "it is down")


def test_the_newest_answer_that_passes_the_checks_serves_in_its_own_catalog(tmp_path: Path) -> None:
    def refuses(record: ToolRecord, answer: Expansion) -> tuple[Expansion, tuple[TextVerdict, ...]]:
        return (Expansion("", ()) if "2" in answer.user_phrases[0] else answer), ()

    def numbered(body: dict[str, Any], count: int) -> Reply:
        return Reply(completion(json.dumps({**row("a"), "user_phrases": [f"number {count}"]})))

    with ModelServer(numbered) as server:
        for version in (0, 1):
            run(tmp_path, _catalog({"a": version}), DirectGenerator(server.settings()))
        result = run(tmp_path, _catalog({"a": 2}), *_down(server), screen=refuses)
        assert run(tmp_path, _catalog({"a": 2}), *_down(server), name="elsewhere").written == {}
    assert result.written["a"].expansion.user_phrases == ("number 1",)
    assert result.stale["a"].run == 1


def test_an_earlier_answer_tells_what_it_was_asked_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: list[tuple[int, dict[str, Any], int, tuple[str, ...]]] = [
        (1, {}, 0, ("record",)),
        (0, {"model": "m2"}, 0, ("model",)),
        (0, {}, 1, ("prompt",)),
        (0, {"parameters": {"temperature": 1}}, 0, ("parameters",)),
        (1, {"model": "m2"}, 1, ("record", "prompt", "model")),
    ]
    first_version = prompt.PROMPT_VERSION
    with ModelServer() as server:
        run(tmp_path, _catalog({"a": 0}), DirectGenerator(server.settings()))
        for version, settings, later, reasons in changes:
            monkeypatch.setattr(prompt, "PROMPT_VERSION", first_version + later)
            result = run(tmp_path, _catalog({"a": version}), *_down(server, **settings))
            assert result.stale["a"].reasons == reasons


def test_answers_about_a_former_name_serve_on_or_where_more_has_changed_as_stale(tmp_path: Path) -> None:
    def beside_b(name: str) -> Catalog:
        route = {"method": "GET", "path": "/emp/{id}/mgr"}
        return catalog_records([make_raw(name, annotations=route), make_raw("b", description="It does b.")])

    with ModelServer() as server:
        for name, tool_id in (("get_/emp/{id}/mgr", "get_-emp-id-mgr"), ("get_emp_mgr", "get_emp_mgr")):
            model, siblings = DirectGenerator(server.settings()), {tool_id: ["b"], "b": [tool_id]}
            today = run(tmp_path, beside_b(name), model, siblings=siblings)
        assert (len(server.asked), today.reused, today.stale) == (4, 4, {})
        later = run(tmp_path, beside_b(name), *_down(server, model="m2"))
    assert later.stale[tool_id].reasons == ("record", "model")


def test_a_second_answer_serves_on_where_its_siblings_cannot_be_asked_about(tmp_path: Path) -> None:
    catalog = _catalog(dict.fromkeys(_NAMES, 0))
    with ModelServer() as server:
        model = DirectGenerator(server.settings())
        second = run(tmp_path, catalog, model, siblings={"a": ["b"]}).written["a"]
        beside_others = run(tmp_path, catalog, *_down(server), siblings={"a": ["c"], "b": ["a"]})
    assert beside_others.written["a"].key == second.key
    assert {tool_id: stale.reasons for tool_id, stale in beside_others.stale.items()} == {"a": ("siblings",)}
    assert beside_others.generators == {"openai": 4}
