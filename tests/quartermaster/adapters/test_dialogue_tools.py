"""The tools of a dialogue, from what was said, called and searched in it."""

import asyncio
from typing import Any

import pytest

from quartermaster.adapters.dialogue_tools import Called, DialogueTools, Event, Read
from quartermaster.adapters.tool_search import Searched
from router import Router, SettingsInvalid

FORECAST, REFUND, ISSUE = "weather/getForecast", "stripe/create_refund", "github/create_issue"


def ids(router: Router, *events: Event, **options: Any) -> list[str]:
    tools = asyncio.run(DialogueTools(router, **options).tools(events))
    return [tool.tool_id for tool in tools]


def test_nothing_is_chosen_before_the_user_says_something(router: Router) -> None:
    assert ids(router) == ids(router, "", " ") == ids(router, Called(FORECAST)) == []


def test_what_is_said_next_adds_tools_behind_those_of_before(router: Router) -> None:
    said = ["do I need an umbrella", "give the customer half of the money back"]
    assert ids(router, said[0], k=2) == [FORECAST]
    assert ids(router, *said, k=2) == [FORECAST, REFUND]
    assert [*router.route(said, k=2).ids] == [REFUND, FORECAST]  # by rank, the prompt's beginning would be another


def test_the_same_dialogue_gives_the_same_tools_in_another_instance(router: Router) -> None:
    events = ("do I need an umbrella", Called(FORECAST), Searched("pay money back", ()), "and book a room")
    assert ids(router, *events, k=2) == ids(router, *events, k=2)


def test_a_search_adds_what_fits_its_own_words_and_one_that_the_router_refuses_adds_nothing(router: Router) -> None:
    searched = Searched("give the customer half of the money back", ())
    assert ids(router, "do I need an umbrella", Searched(" ", ()), searched, k=1) == [FORECAST, REFUND]


def test_the_needs_of_a_search_choose_its_tools(router: Router) -> None:
    def found(*needs: str) -> list[str]:
        return ids(router, "do I need an umbrella", Searched("sort it out for the customer", needs), k=1)

    assert found("refund a charge") == [FORECAST, REFUND]
    assert found("create an issue on github") == [FORECAST, ISSUE]


def test_a_router_that_asks_for_needs_is_told_them_for_a_message_and_for_a_search_without(router: Router) -> None:
    asking = DialogueTools(Router.from_tools(router.tools, encoder=None, ask_needs=lambda _: ["refund a charge"]))
    assert asyncio.run(asking.routed(["sort it out"])).needs == ("refund a charge",)
    assert asyncio.run(asking.routed(["sort it out"], ["find a channel"])).needs == ("find a channel",)


def test_a_called_tool_stays_when_room_is_short(router: Router) -> None:
    others = [Searched("give the customer half of the money back", ()), Searched("open an issue on github", ())]
    short: dict[str, Any] = {"k": 1, "capacity": 2}
    assert ids(router, "do I need an umbrella", *others, **short) == [ISSUE]
    assert ids(router, "do I need an umbrella", others[0], Called(FORECAST), others[1], **short) == [FORECAST, ISSUE]


def test_behind_long_results_a_tool_that_is_hardly_needed_is_not_added(router: Router) -> None:
    team, ticket = Searched("send a message to the team", ()), Searched("create a ticket", ())
    first = ids(router, team, k=2)
    assert ids(router, team, Read(400), ticket, k=2) == [*first, "linear/list_issues"]
    assert ids(router, team, Read(400_000), ticket, k=2) == first


def test_answers_are_kept_until_the_tools_change(router: Router) -> None:
    mine = Router.from_tools([router.tools[0]], encoder=None)
    dialogue, name = DialogueTools(mine, k=3), mine.tools[0].name
    first = asyncio.run(dialogue.routed([name]))
    assert asyncio.run(dialogue.routed([name])) is first
    mine.register([{"name": f"{name} again", "description": name}], provider="late")
    assert len(asyncio.run(dialogue.routed([name]))) == 2


def test_an_option_out_of_its_range_is_refused_at_once(router: Router) -> None:
    with pytest.raises(SettingsInvalid, match="capacity is 200"):
        DialogueTools(router, capacity=200)


def test_a_dialogue_is_worked_out_once_while_the_model_works(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    dialogue, routes, route = DialogueTools(router, k=1), list[Any](), Router.route

    def counted(self: Router, *args: Any, **options: Any) -> Any:
        routes.append(args)
        return route(self, *args, **options)

    monkeypatch.setattr(Router, "route", counted)
    first = asyncio.run(dialogue.tools(["do I need an umbrella"]))
    assert asyncio.run(dialogue.tools(["do I need an umbrella", Called(FORECAST), Read(80)])) is first
    assert routes == [(["do I need an umbrella"],)]
