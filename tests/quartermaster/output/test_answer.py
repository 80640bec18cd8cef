"""What search and explain say of an answer before its tools."""

import re
from dataclasses import replace

import pytest
from msgspec import structs

from quartermaster.evaluation.verdict import score_text
from quartermaster.output.answer import results_table, show_answer, show_diagnosis, show_explanation, show_verdict
from quartermaster.output.terminal import out
from router import NeededBy, RoutedTools, Router, Signal, ToolRecord
from router.record import Kind
from tests.support.film_tools import CREDITS, SEARCH, WEATHER, film_router


@pytest.mark.parametrize(
    ("calibrated", "said"),
    [
        (True, "Most likely no tool fits this request (probability that one does: 0.07). What came closest:"),
        (False, "Perhaps no tool fits this request; that is a guess, not calibrated for this catalog. What came"),
    ],
)
def test_that_none_fits_is_said_as_surely_as_it_is_known_and_nothing_where_one_does(
    calibrated: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_verdict(RoutedTools((), "s", "default", latest_fits=0.07, none_fits=True, calibrated=calibrated))
    assert " ".join(capsys.readouterr().out.split()).startswith(said)
    show_verdict(RoutedTools((), "s", "default", fits=0.97, calibrated=True))
    assert capsys.readouterr().out == ""


REQUEST = "the films that Ana Torres has worked in"


def test_below_a_tool_that_was_brought_is_what_needs_it_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    routed = film_router().route(REQUEST)
    out.print(results_table(routed))
    assert "first, for person_id of films/get_person_credits" in capsys.readouterr().out
    hostile = structs.replace(routed[1], needed_by=(NeededBy(CREDITS["id"], "[red]\x1b[2J"),))
    out.print(results_table(replace(routed, tools=(routed[0], hostile))))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "[red]" in shown


def test_an_explanation_and_a_diagnosis_say_what_being_needed_gave(capsys: pytest.CaptureFixture[str]) -> None:
    router = film_router()
    show_explanation(router.route(REQUEST, explain=True))
    assert "needed" in capsys.readouterr().out
    show_explanation(router.route("the weather in a city", explain=True))
    assert "needed" not in capsys.readouterr().out
    show_diagnosis(router, diagnosis := router.diagnose(REQUEST, SEARCH["id"]))
    told = f"needed       contributes {score_text(diagnosis.tool.raised)}: for person_id of films/get_person_credits"
    assert told in capsys.readouterr().out
    show_diagnosis(router, router.diagnose(REQUEST, SEARCH["id"], needs=["search for people by their name"]))
    assert re.search(r"  need         contributes .*: search for people by their name\n", capsys.readouterr().out)


def test_an_id_stands_whole_on_a_line_of_80_columns_and_its_largest_share_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "width", 80)
    long = {**SEARCH, "id": f"films/{'search_for_people_' * 3}by_name"}
    show_explanation(Router.from_tools([long, CREDITS, WEATHER], encoder=None).route("search people", explain=True))
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == f"1  {long['id']}"
    show_explanation(film_router().route(REQUEST, explain=True))
    shares = re.findall(r"\((\d+)%\)", capsys.readouterr().out.split("\n2  ")[0])
    assert len(shares) > 1 and shares == sorted(shares, key=int, reverse=True)


def test_what_is_assumed_of_a_tool_in_another_language_has_its_own_reason(capsys: pytest.CaptureFixture[str]) -> None:
    router = Router.from_tools([SEARCH, CREDITS], encoder=None)
    diagnosis = router.diagnose(REQUEST, SEARCH["id"])
    assumed = structs.replace(
        diagnosis.tool, ranks={}, contributions={Signal.DESCRIPTION: 0.004, Signal.EXPANSION: 0.002}
    )
    show_diagnosis(router, replace(diagnosis, tool=assumed))
    shown = capsys.readouterr().out
    assert "contributes 0.004, assumed: the tool is described in another language" in shown
    assert "contributes 0.002, assumed: the tool has no expansion" in shown


def test_what_is_no_tool_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    tea = ToolRecord("own/tea", "own", "tea", "Make tea.", kind=Kind.SKILL)
    out.print(
        results_table(
            Router.from_tools([tea, ToolRecord("own/cup", "own", "cup", "A cup of tea.")], encoder=None).route("tea")
        )
    )
    shown = capsys.readouterr().out
    assert "own/tea (skill)" in shown and "own/cup (" not in shown


def test_each_need_is_printed_with_the_tools_that_serve_it_or_that_nothing_fits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    needs = ["the weather in a city", "send a fax"]
    routed = Router.from_tools([SEARCH, CREDITS, WEATHER], encoder=None).route("both", needs=needs, k=1, explain=True)
    for show, named in ((show_answer, r"#  need"), (show_explanation, r"need 1 \(\d+%\)")):
        show(replace(routed, uncovered=("send a fax",)))
        need, missed, *rest = capsys.readouterr().out.splitlines()
        assert (need, missed) == ("need 1: the weather in a city", "need 2: send a fax (nothing fits)")
        assert re.search(named, "\n".join(rest))
