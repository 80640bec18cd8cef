"""Each cause alone: small catalogs in which a step is missed for one reason."""

import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from router import Fusion, Recipe, Router
from router.evaluation import Cause, Judgement, Measurement, ask
from router.evaluation.causes.missed_step import missed_steps
from router.evaluation.causes.rules import decide
from router.evaluation.causes.tool_texts import ToolText
from router.record import Parameter, ToolRecord
from tests.support.factories import make_record
from tests.support.fake_encoder import FakeEncoder

NAMES = "amber birch cedar delta ember fjord grove heath inlet jetty knoll".split()  # eleven: one more than an answer
DESCRIPTION = Recipe("description", Fusion.RRF, {"description": 1.0})
DENSE = Recipe("dense", Fusion.RRF, {"dense": 1.0})
# Longer than what the encoder gets of a description.
PREFACE = (
    "The archive was founded by three sisters in a mill near the river. Every winter they bound their papers in green "
    "leather. Later owners moved the shelves twice, first into a chapel and then into an old station. Visitors read "
    "everything there on weekdays. The garden behind it is open in summer and has a small pond with carp. A bakery "
    "opposite sells rolls until noon. The last train leaves at nine, and the bridge is closed at night. In spring the "
    "meadow floods, so boots are lent at the gate for a deposit."
)


class Words(FakeEncoder):
    """An encoder whose vectors are bags of words."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.full((len(texts), 512), 1e-3, np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in text.lower().replace(".", " ").split():
                vector[zlib.crc32(word.encode()) % 512] += 1
        normalized: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalized


def tool(tool_id: str, description: str, *required: str) -> ToolRecord:
    """A tool with required parameters; its id is `provider/name`, or a name alone."""
    provider, _, name = tool_id.rpartition("/")
    parameters = tuple(Parameter(path, "string", required=True) for path in required)
    return make_record(name, provider or None, tool_id=tool_id, description=description, parameters=parameters)


def measured(
    tools: Sequence[ToolRecord], request: str, *required: str, recipe: str | Recipe = "lexical"
) -> Measurement:
    """One request that takes all of these tools, put to a router over the catalog."""
    held = frozenset(required)
    judgement = Judgement("q", request, held, held, "multi" if len(required) > 1 else "single")
    encoder = Words() if isinstance(recipe, Recipe) and recipe.weights.get("dense") else None
    return ask(Router.from_tools(list(tools), encoder=encoder), [judgement], recipe)


def decided(measurement: Measurement) -> list[tuple[Cause, str]]:
    """The cause and the evidence of each missed step."""
    return [decide(missed) for missed in missed_steps(measurement)]


def test_a_tool_that_the_snapshot_lacks_is_absent() -> None:
    found = measured([tool("pour", "Pours tea.")], "pour tea", "steep")
    assert decided(found) == [(Cause.ABSENT, "not in this snapshot")]


def test_a_request_taken_for_one_that_no_tool_fits_is_an_abstention() -> None:
    found = measured([tool("pour", "Pours tea.")], "zzz", "pour")
    refused = replace(found, results=tuple(replace(result, none_fits=True, fits=0.25) for result in found.results))
    assert decided(refused) == [(Cause.ABSTENTION, "the router says that no tool fits (fits 0.25)")]


def test_a_tool_whose_near_duplicate_is_in_the_answer_is_a_duplicate() -> None:
    twins = [tool(f"{name}/pourTea", "Pours a cup of hot tea.") for name in NAMES]
    found = measured(twins, "pour a cup of tea", "knoll/pourTea")
    assert decided(found) == [(Cause.DUPLICATE, "amber/pourTea has nearly the same name and description")]


def test_a_tool_that_gives_what_another_required_tool_needs_is_a_prerequisite() -> None:
    tools = [tool("cancel_trip", "Cancels a trip.", "booking_id"), tool("find_booking", "Looks up reservations.")]
    found = measured(tools, "cancel the trip of Ada", "cancel_trip", "find_booking")
    assert decided(found) == [(Cause.PREREQUISITE, "cancel_trip needs it for booking_id")]


def test_a_prerequisite_that_only_the_graph_of_the_snapshot_knows_counts_too() -> None:
    search = tool("desk/search", "Find pages by their words.", "query")
    found = measured(
        [tool("desk/delete_page", "Delete a page.", "page_id"), search],
        "throw the letter to Ann away",
        "desk/delete_page",
        "desk/search",
    )
    assert decided(found)[-1] == (Cause.PREREQUISITE, "desk/delete_page needs it for page_id")


def test_a_tool_that_the_request_names_is_no_prerequisite() -> None:
    tools = [
        tool("cancel_trip", "Cancels a trip.", "booking_id"),
        tool("find_booking", "Looks up reservations."),
        *(tool(name, "Find the booking, find the booking.") for name in NAMES),
    ]
    found = measured(tools, "find the booking and cancel", "cancel_trip", "find_booking")
    assert Cause.PREREQUISITE not in [cause for cause, _ in decided(found)]


def test_a_step_without_a_word_in_a_request_of_several_is_implicit() -> None:
    tools = [tool("convert_sheet", "Converts a sheet to a page."), tool("write_file", "Stores bytes on disk.")]
    found = measured(tools, "convert the sheet and keep it", "convert_sheet", "write_file")
    assert decided(found) == [(Cause.IMPLICIT, "no word in common with a request that takes other tools too")]


def test_a_tool_behind_others_of_its_provider_is_missed_for_a_sibling() -> None:
    siblings = [tool(f"acme/{name}", "Open tickets.") for name in NAMES]
    tools = [
        *siblings,
        tool("acme/lantern", "One of the tickets that somebody wrote."),
        tool("other/zebra", "Stripes."),
    ]
    found = measured(tools, "open tickets", "acme/lantern")
    assert decided(found) == [(Cause.SIBLING, "acme/amber is of the same provider")]


def test_a_provider_says_nothing_where_there_is_only_one() -> None:
    tools = [
        *(tool(f"acme/{name}", "Open tickets.") for name in NAMES),
        tool("acme/lantern", "A ticket, written late."),
    ]
    assert [cause for cause, _ in decided(measured(tools, "open tickets", "acme/lantern"))] == [Cause.RANK]


def test_a_tool_behind_another_with_the_same_object_is_missed_for_a_sibling() -> None:
    tools = [
        tool("add_issue", "Open tickets."),
        *(tool(name, "Open tickets.") for name in NAMES),
        tool("delete_issue", "A ticket that goes away for good."),
    ]
    found = measured(tools, "open tickets", "delete_issue", recipe=DESCRIPTION)
    assert decided(found) == [(Cause.SIBLING, "add_issue acts on the same object")]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("github/github_create_issue", "linear/list_issues", True),
        ("countries/get_country_details", "products/product_details", False),
        ("users/get_user", "users/get_user_profile", False),
    ],
)
def test_the_object_of_a_name_leaves_out_the_providers_label_before_it(first: str, second: str, same: bool) -> None:
    texts = [ToolText(tool(tool_id, "Does it."), ()) for tool_id in (first, second)]
    assert texts[0].has_same_object(texts[1]) is same


def test_words_past_what_is_read_of_a_request_are_cut_text() -> None:
    pasted = " ".join(f"word{number}" for number in range(300))
    tools = [tool("translate", "Translates poems."), tool("pour", "Pours tea.")]
    found = measured(tools, f"{pasted} translate the poem", "translate")
    assert decided(found) == [(Cause.CUT_TEXT, "cut off from the request: poem, translat")]


def test_words_past_what_is_read_of_a_description_are_cut_text() -> None:
    tools = [*(tool(name, "poem") for name in NAMES), tool("lantern", f"{PREFACE} It can translate a poem.")]
    found = measured(tools, "translate poem", "lantern", recipe=DENSE)
    assert decided(found) == [(Cause.CUT_TEXT, "cut off from the text of the tool: poem, translat")]
    short = [
        *(tool(name, "poem") for name in NAMES),
        tool("lantern", "filler0 filler1 filler2 filler3 filler4 translate"),
    ]
    assert [cause for cause, _ in decided(measured(short, "translate poem", "lantern", recipe=DENSE))] == [Cause.RANK]


def test_a_tool_without_a_word_of_the_request_is_missed_for_its_vocabulary() -> None:
    tools = [tool("quench", "Halts a kiln."), tool("pour", "Pours tea.")]
    assert decided(measured(tools, "cool the oven", "quench")) == [(Cause.VOCABULARY, "no word in common")]


def test_a_tool_that_one_list_has_first_is_lost_in_fusion() -> None:
    tools = [*(tool(name, "Open tickets.") for name in NAMES), tool("storm", "Clouds.")]
    recipe = Recipe("descriptions", Fusion.RRF, {"name": 0.01, "description": 1.0})
    found = measured(tools, "storm tickets", "storm", recipe=recipe)
    assert decided(found) == [(Cause.FUSION, "name ranks it 1")]


def test_a_tool_that_every_list_ranks_below_others_is_missed_for_its_rank() -> None:
    tools = [*(tool(name, "Open tickets.") for name in NAMES), tool("lantern", "A ticket, written late.")]
    assert decided(measured(tools, "open tickets", "lantern")) == [(Cause.RANK, "description ranks it 12")]


def test_the_first_cause_whose_rule_holds_is_taken() -> None:
    twins = [tool(f"{name}/pourTea", "Pours a cup of hot tea.") for name in NAMES]
    found = measured(twins, "pour a cup of tea", "knoll/pourTea", "gone")
    assert [cause for cause, _ in decided(found)] == [Cause.ABSENT, Cause.DUPLICATE]
    refused = replace(found, results=tuple(replace(result, none_fits=True) for result in found.results))
    assert [cause for cause, _ in decided(refused)] == [Cause.ABSENT, Cause.ABSTENTION]


def test_of_a_group_the_tool_that_came_nearest_is_looked_at() -> None:
    tools = [
        *(tool(name, "Open tickets.") for name in NAMES),
        tool("lantern", "A ticket, late."),
        tool("zebra", "Stripes."),
    ]
    judgement = Judgement(
        "q", "open tickets", frozenset(), frozenset(), "single", (frozenset({"zebra", "lantern", "gone"}),)
    )
    (missed,) = missed_steps(ask(Router.from_tools(tools, encoder=None), [judgement], "lexical"))
    assert (missed.tool_id, missed.nearest, missed.best_rank) == ("lantern", "description", 12)


def test_lists_that_a_measurement_did_not_keep_are_ranked_again() -> None:
    tools = [*(tool(name, "Open tickets.") for name in NAMES), tool("lantern", "A ticket, written late.")]
    whole = measured(tools, "open tickets", "lantern")
    short = ask(whole.router, whole.judgements, "lexical", whole=False)
    assert list(short.results[0].lists) == ["fused"] and decided(short) == decided(whole)


@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_says_what_happened_and_what_to_do(cause: Cause) -> None:
    assert cause.label and cause.meaning and cause.way_out.endswith(".")
