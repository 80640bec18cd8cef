"""Each cause alone: small catalogs in which a step is missed for one reason."""

import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from quartermaster.evaluation import Cause, Judgement, Measurement, ask
from quartermaster.evaluation.causes.missed_step import ToolText, missed_steps
from quartermaster.evaluation.causes.rules import decide, resolved_parameter
from router import Fusion, Recipe, Router
from router.record import Parameter, ToolRecord
from tests.support.factories import make_record
from tests.support.fake_encoder import FakeEncoder

NAMES = "amber birch cedar delta ember fjord grove heath inlet jetty knoll".split()  # eleven: one more than an answer
DESCRIPTION = Recipe("description", Fusion.RRF, {"description": 1.0})
DENSE = Recipe("dense", Fusion.RRF, {"dense": 1.0})
# Longer than what the encoder gets of a description.
PREFACE = " ".join(f"The archive has shelf {number} in a mill near the river." for number in range(12))


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
    # A tool that has phrases gets no words of its name into its description.
    phrases = {one.tool_id: ["-"] for one in tools} if recipe in (DESCRIPTION, BARELY) else None
    return ask(Router.from_tools(list(tools), encoder=encoder, phrases=phrases), [judgement], recipe)


def decided(measurement: Measurement) -> list[tuple[Cause, str]]:
    """The cause and the evidence of each missed step."""
    return [decide(missed) for missed in missed_steps(measurement)]


LEXICAL, BARELY = "lexical", Recipe("descriptions", Fusion.RRF, {"name": 0.01, "description": 1.0})
POUR, QUENCH = tool("pour", "Pours tea."), tool("quench", "Halts a kiln.")
OPEN, POEMS = ([tool(name, text) for name in NAMES] for text in ("Open tickets.", "poem"))
LATE = tool("lantern", "A ticket, written late.")
TWINS = [tool(f"{name}/pourTea", "Pours a cup of hot tea.") for name in NAMES]
TRIPS = [tool("cancel_trip", "Cancels a trip.", "booking_id"), tool("find_booking", "Looks up reservations.")]
# Only the graph of the snapshot knows that the one finds what the other needs.
PAGES = [tool("w/delete_page", "Delete a page.", "page_id"), tool("w/search", "Find pages by their words.", "query")]
SHEETS = [tool("convert_sheet", "Converts a sheet to a page."), tool("write_file", "Stores bytes on disk.")]
ONE_PROVIDER = [*(tool(f"acme/{name}", "Open tickets.") for name in NAMES), tool("acme/late", "A ticket, late.")]
ISSUES = [tool("add_issue", "Open tickets."), *OPEN, tool("delete_issue", "A ticket that goes away for good.")]
LONG, SHORT = f"{PREFACE} It can translate a poem.", "filler0 filler1 filler2 filler3 filler4 translate"
PASTED = " ".join(f"word{number}" for number in range(300))


@pytest.mark.parametrize(
    ("tools", "asked", "required", "recipe", "cause", "evidence"),
    [
        ([POUR], "pour tea", "steep", LEXICAL, Cause.ABSENT, "not in this snapshot"),
        (TWINS, "pour a cup of tea", "knoll/pourTea", LEXICAL, Cause.DUPLICATE, "amber/pourTea has nearly the same"),
        (TRIPS, "cancel it for Ada", "cancel_trip find_booking", LEXICAL, Cause.PREREQUISITE, "cancel_trip needs it"),
        (PAGES, "throw it away", "w/delete_page w/search", LEXICAL, Cause.PREREQUISITE, "w/delete_page needs it"),
        (SHEETS, "convert the sheet, keep it", "convert_sheet write_file", LEXICAL, Cause.IMPLICIT, "no word in"),
        ([*ONE_PROVIDER, tool("o/z", "Z")], "open tickets", "acme/late", LEXICAL, Cause.SIBLING, "acme/amber is of"),
        (ONE_PROVIDER, "open tickets", "acme/late", LEXICAL, Cause.RANK, "description ranks it 12"),
        (ISSUES, "open tickets", "delete_issue", DESCRIPTION, Cause.SIBLING, "add_issue acts on the same object"),
        ([tool("translate", "Poems."), POUR], f"{PASTED} translate", "translate", LEXICAL, Cause.CUT_TEXT, "cut off"),
        ([*POEMS, tool("l", LONG)], "translate poem", "l", DENSE, Cause.CUT_TEXT, "cut off from the text of the tool"),
        ([*POEMS, tool("l", SHORT)], "translate poem", "l", DENSE, Cause.RANK, "dense ranks it 12"),
        ([QUENCH, POUR], "cool the oven", "quench", LEXICAL, Cause.VOCABULARY, "no word in common"),
        ([*OPEN, tool("storm", "Clouds.")], "storm tickets", "storm", BARELY, Cause.FUSION, "name ranks it 1"),
        ([*OPEN, LATE], "open tickets", "lantern", LEXICAL, Cause.RANK, "description ranks it 12"),
    ],
)
def test_the_first_cause_whose_rule_holds_is_taken_with_its_evidence(
    tools: Sequence[ToolRecord], asked: str, required: str, recipe: str | Recipe, cause: Cause, evidence: str
) -> None:
    (*_, (found, said)) = decided(measured(tools, asked, *required.split(), recipe=recipe))
    assert found is cause and said.startswith(evidence)
    assert cause.label and cause.meaning and cause.remedy.endswith(".")


def test_a_request_taken_for_one_that_no_tool_fits_is_an_abstention() -> None:
    found = measured(TWINS, "pour a cup of tea", "knoll/pourTea")
    refused = replace(found, results=tuple(replace(result, none_fits=True, fits=0.25) for result in found.results))
    assert decided(refused) == [(Cause.ABSTENTION, "the router says that no tool fits (fits 0.25)")]


def test_a_tool_that_the_request_names_is_no_prerequisite() -> None:
    tools = [*TRIPS, *(tool(name, "Find the booking, find the booking.") for name in NAMES)]
    found = measured(tools, "find the booking and cancel", "cancel_trip", "find_booking", recipe=DESCRIPTION)
    assert [missed.tool_id for missed in missed_steps(found)] == ["find_booking"]
    assert Cause.PREREQUISITE not in [cause for cause, _ in decided(found)]


def test_a_tool_far_down_is_not_missed_for_a_sibling() -> None:
    many = [tool(f"acme/{name}{number}", "Open tickets.") for number in range(3) for name in NAMES]
    found = measured([*many, tool("acme/late", "A ticket."), tool("o/z", "Z")], "open tickets", "acme/late")
    assert Cause.SIBLING not in [cause for cause, _ in decided(found)]


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


def test_of_a_group_the_tool_that_came_nearest_is_looked_at_and_lists_that_were_not_kept_are_ranked_again() -> None:
    tools = [*OPEN, LATE, tool("zebra", "Stripes.")]
    group = frozenset({"zebra", "lantern", "gone"})
    judgement = Judgement("q", "open tickets", frozenset(), frozenset(), "single", (group,))
    whole = ask(Router.from_tools(tools, encoder=None), [judgement], "lexical")
    (missed,) = missed_steps(whole)
    assert (missed.tool_id, missed.nearest, missed.best_rank) == ("lantern", "description", 12)
    short = ask(whole.router, whole.judgements, "lexical", whole=False)
    assert list(short.results[0].lists) == ["fused"] and decided(short) == decided(whole)
    stated = [Judgement("q", "open tickets", frozenset(), frozenset(), "single", (group,), needs=("resolve",))]
    kept, dropped = (ask(whole.router, stated, "lexical", whole=keeps) for keeps in (True, False))
    assert next(missed_steps(dropped)).result.lists == kept.results[0].lists != whole.results[0].lists


def text(name: str, *parameters: Parameter, provider: str | None = "acme") -> ToolText:
    """A tool's text, without phrases."""
    return ToolText(make_record(name, provider, parameters=parameters), ())


def needs(path: str, description: str = "") -> Parameter:
    """A required parameter."""
    return Parameter(path, "string", description, required=True)


ID, OPTIONAL = needs("customer_id"), Parameter("customer_id", "string")
SEARCH = text("search_customers")


@pytest.mark.parametrize(
    ("needing", "given", "resolved"),
    [
        (text("update_customer", ID), SEARCH, "customer_id"),
        (text("update_customer", needs("target.customerId")), text("listCustomers"), "target.customerId"),
        (text("delete_customer", needs("id")), text("find_customer"), "id"),
        (text("add_agenda", needs("token")), text("GetUserToken"), "token"),
        (text("find_flights", needs("originCode", "Of the Search Airport API.")), text("SearchAirport"), "originCode"),
        (text("update_customer", needs("customer_name")), SEARCH, None),  # a person says it
        (text("update_customer", ID), text("search_orders"), None),
        (text("update_customer", ID), text("get_customer", ID), None),  # it needs the same
        (text("update_customer", ID), text("search_customers", provider="other"), None),
        # Optional identifiers count only where no parameter is marked as required.
        (text("update_customer", OPTIONAL), SEARCH, "customer_id"),
        (text("update_customer", OPTIONAL, needs("name")), SEARCH, None),
    ],
)
def test_a_tool_gives_the_identifier_that_its_name_or_the_parameter_says(
    needing: ToolText, given: ToolText, resolved: str | None
) -> None:
    assert resolved_parameter(needing, given) == resolved
