"""Which tools must run first, as answers, explanations and the router name them; and who is never named."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.evaluation.verdict import verdict
from router import NeededBy, Profile, Router, Selection, ToolNeed, ToolResolver
from tests.support.film_tools import CHAIN, CREDITS, FILM_TOOLS, SEARCH, film_router

CREDITS_ID, SEARCH_ID = CREDITS["id"], SEARCH["id"]
REQUEST = "the films that Ana Torres has worked in"
NEEDED = NeededBy(CREDITS_ID, "person_id")
STEPS = "list the films that Ana Torres has worked in, and then tell me the weather of the next days in a city"
IDS = sorted({row["id"] for row in (*FILM_TOOLS, *CHAIN)})


@pytest.fixture(scope="module")
def router() -> Router:
    return film_router()


def test_a_brought_tool_names_the_tool_that_needs_it_and_the_parameter(router: Router) -> None:
    routed = router.route(REQUEST)
    assert routed.ids[:2] == (CREDITS_ID, SEARCH_ID)
    assert [tool.needed_by for tool in routed][:2] == [(), (NEEDED,)]
    assert routed.to_json()["tools"][1]["needed_by"] == [{"tool_id": CREDITS_ID, "parameter": "person_id"}]
    for k in range(1, 6):  # only tools of the answer are named
        found = router.route("search for people", k=k)
        assert {needing.tool_id for tool in found for needing in tool.needed_by} <= set(found.ids)
    plain = router.route(REQUEST, recipe=replace(router.recipe(), prerequisites=False), explain=True)
    assert not any(tool.needed_by or tool.raised for tool in plain)


@pytest.mark.parametrize("request_text", [REQUEST, STEPS])
def test_contributions_and_gain_add_up_to_the_score_of_every_tool(router: Router, request_text: str) -> None:
    routed = router.route(request_text, explain=True)
    (always,) = router.route(REQUEST, selection=Selection(always=(SEARCH_ID,)), explain=True).always
    assert any(tool.raised for tool in routed) and always.raised > 0
    for tool in (*routed, always):
        assert sum(tool.contributions.values()) + tool.gain == pytest.approx(tool.score)
        assert 0 <= tool.raised <= tool.gain + 1e-9


def test_a_diagnosis_says_which_tool_needs_it_and_what_that_gave(router: Router) -> None:
    diagnosis = router.diagnose(REQUEST, SEARCH_ID)
    assert diagnosis.tool.needed_by == (NEEDED,) and diagnosis.tool.raised > 0
    assert verdict(diagnosis).endswith(f"{CREDITS_ID} needs it first, for person_id.")
    blocked = router.diagnose(REQUEST, SEARCH_ID, selection=Selection(block=(CREDITS_ID,)))
    assert blocked.tool.needed_by == () and "needs it first" not in verdict(blocked)


def test_the_router_tells_what_a_tool_needs_and_what_needs_it(router: Router) -> None:
    person = ToolNeed("person_id", "identifier", "person", (ToolResolver(SEARCH_ID, 1.0),))
    assert router.prerequisites(CREDITS_ID) == (person,)
    assert router.needed_by(SEARCH_ID) == (NEEDED,)
    assert not router.prerequisites("nobody/knows") and not router.needed_by("nobody/knows")
    strangers = film_router(SEARCH, CREDITS | {"provider": "other"})
    assert not strangers.prerequisites("other/get_person_credits") and not strangers.needed_by(SEARCH_ID)


_requests = st.sampled_from([REQUEST, STEPS, "similar films", "the size of an image of a cast", "search"])


@given(st.sets(st.sampled_from(IDS), max_size=6), _requests, st.integers(1, 10), st.booleans())
def test_a_tool_outside_of_a_profile_or_selection_is_neither_brought_nor_named(
    chained: Router, blocked: set[str], request: str, k: int, by_profile: bool
) -> None:
    outside = Selection(block=tuple(sorted(blocked)), fallback_to_empty=True)
    if by_profile:
        router = chained.for_profile(Profile("caller", outside))
        routed = router.route(request, k=k, explain=True)
        told = [*map(router.prerequisites, IDS), *map(router.needed_by, IDS)]
    else:
        routed, told = chained.route(request, k=k, selection=outside), []
    named = json.dumps([tool.to_json() for tool in routed]) + repr(told)
    assert [tool_id for tool_id in blocked if f'"{tool_id}"' in named or f"'{tool_id}'" in named] == []


@pytest.fixture(scope="module")
def chained() -> Router:
    return film_router(*FILM_TOOLS, *CHAIN[1:])


def test_a_resolver_follows_what_is_removed_and_registered_at_run_time() -> None:
    router = film_router()
    search, credits = ({name: row[name] for name in ("name", "parameters")} for row in (SEARCH, CREDITS))
    router.remove([SEARCH_ID])
    assert SEARCH_ID not in router.route(REQUEST).ids and router.prerequisites(CREDITS_ID) == ()
    router.register([search | {"description": "Look people up."}], provider="films")
    tool = router.route(REQUEST)[1]
    assert (tool.tool_id, tool.record.description) == (SEARCH_ID, "Look people up.")
    assert tool.needed_by == (NEEDED,) == router.needed_by(SEARCH_ID)
    assert router.prerequisites(CREDITS_ID)[0].resolvers == (ToolResolver(SEARCH_ID, 1.0),)
    router.register([credits | {"description": "Films of a person."}], provider="films")
    assert not router.prerequisites(CREDITS_ID) and not router.needed_by(SEARCH_ID)


def test_a_duplicate_that_stands_for_a_resolver_is_named_in_its_place() -> None:
    router = film_router(*FILM_TOOLS, SEARCH | {"provider": "mirror"})
    found = {tool.tool_id: tool for tool in router.route("mirror: the films that Ana Torres has worked in")}
    assert found["mirror/search_person"].also_from == (SEARCH_ID,)
    assert found["mirror/search_person"].needed_by == (NEEDED,)
