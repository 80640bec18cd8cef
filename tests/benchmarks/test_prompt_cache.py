"""Whole conversations: what their prompts cost by the way in which tools are chosen."""

import pytest

from benchmarks.prompt_cache import Catalog, append_only, in_prompt, measure
from quartermaster.evaluation import Judgement
from router import Router

TOKENS = {"a": 10, "b": 20}


def turns(*required: str) -> list[Judgement]:
    return [Judgement(tool_id, tool_id, frozenset([tool_id]), frozenset([tool_id]), "single") for tool_id in required]


def test_all_messages_are_paid_again_behind_an_array_that_differs() -> None:
    kept = in_prompt(TOKENS, [("a",), ("a",)], turns("a", "b"), 100)
    assert kept == {"tools": 1, "same": 1, "coverage": 0.5, "paid": pytest.approx(110 + 0.1 * 110 + 100)}
    added = in_prompt(TOKENS, [("a",), ("a", "b")], turns("a", "b"), 100)
    assert added == {"tools": 1.5, "same": 0, "coverage": 1, "paid": pytest.approx(110 + 0.1 * 10 + 20 + 200)}


def test_a_search_of_the_model_is_a_request_of_its_own_and_reads_nothing_again() -> None:
    tools = [{"name": "water_plants", "description": "Water the plants."}]
    with Router.from_tools(tools, encoder=None) as router:
        catalog = Catalog.of(router, lambda text: 10)
        (tool_id,) = catalog.tokens
        dialogue = turns(tool_id, tool_id)
        dialogue[0] = Judgement("1", "water the plants", dialogue[0].required, dialogue[0].required, "single")
        figures = append_only(catalog, dialogue, 100)
        prompts = (110, 0.1 * 110 + 10, 0.1 * 120 + 100)  # a turn, the search's answer, the next turn
        assert figures == {"tools": 1, "same": 1, "coverage": 1, "paid": pytest.approx(sum(prompts))}
        rows = measure(catalog, [dialogue])
    assert rows["1000: afresh"]["ratio"] == 1 and rows["1000: whole catalog"]["same"] == 1
