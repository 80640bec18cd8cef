"""One raw tool to one record: its id, its evened-out texts."""

import pytest

from router.record import Origin, Parameter, ToolRecord
from router.tools.definitions.raw_tool import compose_tool_id, normalize
from tests.support.factories import make_raw


@pytest.mark.parametrize(
    ("provider", "name", "expected"),
    [
        ("stripe", "list_charges", "stripe/list_charges"),
        (None, "list_charges", "list_charges"),
        ("My Office", "Send mail!", "My-Office/Send-mail-"),
        ("v1.2", "get_/people/{id}", "v1.2/get_-people-id-"),
        ("a", "x -- / -- y", "a/x-y"),
        ("a", "顧客list", "a/-list"),
        ("天気", "予報", "u5929-u6c17/u4e88-u5831"),
        ("a", "///", "a/u002f-u002f-u002f"),
    ],
)
def test_an_id_is_provider_and_name_in_a_few_characters(provider: str | None, name: str, expected: str) -> None:
    assert compose_tool_id(provider, name) == expected


def test_every_field_of_a_raw_tool_is_in_its_record() -> None:
    schema = {"properties": {"status": {"type": "string", "description": " Which. "}}, "required": ["status"]}
    kept = {
        "input_schema": schema,
        "annotations": {"readOnlyHint": True},
        "deprecated": True,
        "origin": Origin("stripe.json", "/3"),
    }
    texts = {"examples": (" pull failed payments ", "", "  "), "categories": ("AI & ML, b ,", "ai & ml", "b,c")}
    raw = make_raw(" list_charges ", provider=" stripe ", description="\n Returns charges. \n", **texts, **kept)
    assert normalize(raw) == ToolRecord(
        tool_id="stripe/list_charges",
        provider="stripe",
        name="list_charges",
        description="Returns charges.",
        parameters=(Parameter("status", "string", "Which.", (), True),),
        examples=("pull failed payments",),
        categories=("AI & ML", "b", "ai & ml", "c"),  # split at commas and named once
        **kept,  # type: ignore[arg-type]
    )


def test_an_empty_provider_is_none_and_a_sources_own_id_is_kept() -> None:
    record = normalize(make_raw("a", provider="  "))
    assert (record.provider, record.tool_id) == (None, "a")
    assert normalize(make_raw("list", provider="stripe", id="7f/x y")).tool_id == "7f/x y"
