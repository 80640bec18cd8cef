"""The record: its JSON, its content, and what is never handed over of it."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.records import record_hash
from router.answer.results import RoutedTool
from router.provider_formats.formats import Detail, ProviderFormat, VendorText
from router.provider_formats.rendering import render
from router.provider_formats.shaping import handed_record
from router.record import Link, Origin, Parameter, ToolRecord
from router.snapshot.record_store import RecordStore, ToolEntry
from router.tools.field_text import project_record

PLAIN = ToolRecord(
    "pay/list",
    "pay",
    "list",
    "Lists charges.",
    (Parameter("day", "string", "Which.", ("today",), True),),
    {"type": "object", "properties": {"day": {"type": "string"}}},
    ("list them",),
    ("money",),
    {"readOnlyHint": True},
    False,
    Origin("pay.json", "/tools/0"),
)
OUTPUTS = (
    Parameter("id", "string", "The zebra's id.", required=True),
    Parameter("state", "string", enum=("ok", "bad")),
)
FULL = replace(PLAIN, outputs=OUTPUTS, links=(Link("charge", "refund", "$response.body#/id"),), instructions="Wait.")
TEXTS = st.text(max_size=8)
ROWS = st.builds(Parameter, TEXTS, TEXTS, TEXTS, st.lists(TEXTS, max_size=3).map(tuple), st.booleans())
RECORDS = st.builds(
    lambda outputs, links: replace(PLAIN, outputs=tuple(outputs), links=tuple(links)),
    st.lists(ROWS, max_size=4),
    st.lists(st.builds(Link, TEXTS, TEXTS, TEXTS), max_size=3),
)


def test_what_stands_beside_a_record_counts_as_content_and_without_them_a_record_is_as_before() -> None:
    assert record_hash(PLAIN) == "b50101683b6c74ee3c00c2be0296e27cc6f79949abc4abf8c25949edf9c329bc"
    assert PLAIN.to_json().keys().isdisjoint({"outputs", "links"})
    assert ToolRecord.from_json(PLAIN.to_json()) == PLAIN
    less = (FULL, replace(FULL, outputs=()), replace(FULL, links=()), replace(FULL, instructions=""))
    assert len(set(map(record_hash, less))) == 4


@given(RECORDS)
def test_a_record_comes_back_from_its_json_and_from_a_snapshot(record: ToolRecord) -> None:
    assert ToolRecord.from_json(record.to_json()) == record
    assert msgspec.convert(record.to_json(), ToolRecord) == record
    store = RecordStore.of([ToolEntry(record, ())])
    assert store.complete_record(0) == record and store.entry(0).record == PLAIN


@pytest.mark.parametrize("vendor_text", list(VendorText))
def test_what_stands_beside_a_record_is_in_no_answer_in_no_searched_text_and_handed_to_no_model(
    vendor_text: VendorText,
) -> None:
    assert RoutedTool("pay/list", FULL, 1.0).to_json()["record"] == PLAIN.to_json()
    assert project_record(FULL, None) == project_record(PLAIN, None)
    assert handed_record(FULL, vendor_text).record == PLAIN
    for form in ProviderFormat:
        for detail in Detail:
            rendered = [render([one], form, detail=detail, vendor_text=vendor_text) for one in (PLAIN, FULL)]
            assert rendered[0].tools == rendered[1].tools
