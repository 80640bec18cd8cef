"""A diagnosis says where a tool stands for a request, and why."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quartermaster.evaluation.verdict import advice, verdict, wants_phrase
from router import Router, Selection
from router.answer.diagnosis import WordMatch
from router.answer.reranking import Reranking
from router.answer.results import Dropped
from router.errors import RequestInvalid

REFUND = "stripe/create_refund"
REQUEST = "please undo a payment for the repository"


def said(router: Router, tool_id: str = REFUND, request: str = REQUEST, **options: Any) -> tuple[str, str]:
    diagnosis = router.diagnose(request, tool_id, **options)
    return verdict(diagnosis), advice(diagnosis)


def test_the_places_are_those_of_the_explanation_and_of_the_rankings(router: Router) -> None:
    diagnosis = router.diagnose(REQUEST, REFUND)
    assert {str(place.signal): place.rank for place in diagnosis.lists if place.rank} == dict(diagnosis.tool.ranks)
    for name, ranking in router.lists(REQUEST)[0].items():
        place = next(place for place in diagnosis.lists if place.signal == name)
        ahead = [router.tool_id(int(ordinal)) for ordinal in ranking.ordinals]
        assert place.ahead == tuple(ahead[: min(3, (place.rank or 99) - 1)])
        assert place.rank is None or place.score == pytest.approx(ranking.scores[place.rank - 1])
    with pytest.raises(RequestInvalid, match="has no tool 'nobody'"):
        router.diagnose(REQUEST, "nobody")


def test_each_word_is_looked_for_in_name_description_and_phrases(router: Router) -> None:
    assert list(router.diagnose(REQUEST, "github/create_issue").words) == [
        WordMatch("undo", name=False, description=False, phrases=False),
        WordMatch("payment", name=False, description=False, phrases=False),
        WordMatch("repository", name=False, description=True, phrases=True),
    ]
    fetch = {"name": "fetch", "description": "Returns the user with an id."}
    found = Router.from_tools([fetch], encoder=None).diagnose("getUserById getUserById", "fetch").words
    # An identifier stands beside its parts, each in one row.
    matches = [("get", False), ("User", True), ("Id", True), ("getUserById", False)]
    assert [(match.word, match.description) for match in found] == matches


def test_a_tool_that_is_found_says_its_place(router: Router) -> None:
    ids = router.route(REQUEST).ids
    assert said(router, ids[0]) == ("The request finds this tool first.", "")
    assert said(router, ids[2])[0] == f"The request finds this tool in place 3; {ids[0]} comes first."


def test_what_the_selection_does_to_a_tool_is_said_whatever_its_rank(router: Router) -> None:
    for tool_id in router.route(REQUEST).ids:
        sentence, help_ = said(router, tool_id, selection=Selection(block=("*",)))
        assert sentence == "The tool is left out: blocked by the selection (block: *)."
        assert "Change the selection" in help_
        always = said(router, tool_id, k=1, selection=Selection(always=(tool_id,)))
        assert always == ("The selection adds the tool to every answer, whatever its rank.", "")


def test_past_the_answer_the_best_list_and_the_nearest_phrase_are_named(router: Router) -> None:
    last = router.route(REQUEST, explain=True).tools[-1]
    sentence, help_ = said(router, last.tool_id, k=1)
    best = min(last.ranks, key=lambda name: last.ranks[name])
    assert f"The list {best} has it at {last.ranks[best]}" in sentence and "the answer has 1" in sentence
    assert f"“{last.phrase}”" in help_
    wordless = "what is this for"
    behind = router.route(wordless).ids[-1]
    assert said(router, behind, wordless, k=1)[1] == "The request has only words that no list looks for."


def test_what_cuts_an_answer_short_is_named(router: Router, snapshot: Path) -> None:
    ids = router.route(REQUEST).ids
    assert said(router, ids[-1], k=1, token_budget=1)[0].endswith("the answer has 0: the token budget left 1 out.")
    diagnosis = router.diagnose(REQUEST, ids[-1], k=1)
    refused = Dropped("another/tool", "provider", "tools of another before it: 1, which is max_per_provider")
    short = replace(diagnosis, answer=replace(diagnosis.answer, dropped=(refused,)))
    assert "the selection's limit for one provider left 1 out" in verdict(short)
    reranking = Router.open(snapshot, rerank=Reranking(lambda request, texts: list(map(float, range(len(texts))))))
    expected = "Found at rank 1; the reranker or the selection's weights then put other tools first."
    assert said(reranking, ids[0], k=1)[0] == expected


def test_a_tool_in_no_list_and_without_phrases_should_get_some() -> None:
    tools = [{"name": "alpha", "description": "Paints the fence."}, {"name": "beta", "description": "Sends a letter."}]
    router = Router.from_tools(tools, phrases={"alpha": [], "beta": ["post a letter"]}, encoder=None)
    diagnosis = router.diagnose("post a letter", "alpha")
    assert diagnosis.rank is None and diagnosis.place is None
    assert verdict(diagnosis) == "No list has the tool among its first 100, and a recipe reads no further."
    assert ("It has no phrases." in advice(diagnosis)) is (router.phrases("alpha") == ())


def test_a_phrase_is_wanted_where_that_is_the_advice(router: Router) -> None:
    found, wordless = router.route(REQUEST).ids, "what is this for"
    first = router.diagnose("undo a payment", REFUND)
    asked = [
        router.diagnose("undo a payment", first.answer.ids[1]),
        first,
        router.diagnose(wordless, router.route(wordless).ids[-1], k=1),
        router.diagnose(REQUEST, found[1], selection=Selection(block=("*",))),
    ]
    assert [wants_phrase(one) for one in asked] == [True, False, False, False]
    near = replace(first, answer=replace(first.answer, tools=()))
    assert "Its phrases come near." in advice(near) and not wants_phrase(near)


def test_a_duplicate_names_the_tool_that_is_shown_for_it() -> None:
    refund = {"name": "refund", "description": "Returns the money of a charge."}
    router = Router.from_tools({"one": [refund], "two": [refund]}, encoder=None)
    (shown,) = router.route("refund the charge", k=2)
    (hidden,) = shown.also_from
    assert said(router, hidden, "refund the charge")[0].startswith(f"The answer shows {shown.tool_id} for it")
