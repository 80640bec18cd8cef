"""The record: its JSON, its content, and what is never handed over of it."""

import json
import pickle
from dataclasses import replace

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.records import record_hash
from router.answer.results import RoutedTool
from router.operation import Operation, OperationParameter
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
TEXT = st.text(max_size=20)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
OBJECT = st.dictionaries(TEXT, VALUE, max_size=4)
ROWS = st.lists(st.builds(Parameter, TEXT, TEXT, TEXT, TEXTS, st.booleans()), max_size=3).map(tuple)
RECORDS = st.builds(
    ToolRecord,
    tool_id=TEXT,
    provider=st.none() | TEXT,
    name=TEXT,
    description=TEXT,
    parameters=ROWS,
    input_schema=OBJECT,
    examples=TEXTS,
    categories=TEXTS,
    annotations=OBJECT,
    deprecated=st.booleans(),
    origin=st.builds(Origin, TEXT, TEXT),
    outputs=ROWS,
    links=st.lists(st.builds(Link, TEXT, TEXT, TEXT), max_size=3).map(tuple),
)


def test_what_stands_beside_a_record_counts_as_content_and_without_them_a_record_is_as_before() -> None:
    assert record_hash(PLAIN) == "b50101683b6c74ee3c00c2be0296e27cc6f79949abc4abf8c25949edf9c329bc"
    assert PLAIN.to_json().keys().isdisjoint({"outputs", "links"})
    assert ToolRecord.from_json(PLAIN.to_json()) == PLAIN
    less = (FULL, replace(FULL, outputs=()), replace(FULL, links=()), replace(FULL, instructions=""))
    assert len(set(map(record_hash, less))) == 4


@given(RECORDS)
@example(ToolRecord("a", None, "a", ""))
def test_a_record_comes_back_from_its_json_and_from_a_snapshot(record: ToolRecord) -> None:
    row = json.loads(json.dumps(record.to_json()))
    again = ToolRecord.from_json(row)
    assert (again, again.to_json(), record_hash(again)) == (record, row, record_hash(record))
    assert msgspec.convert(row, ToolRecord) == record
    store = RecordStore.of([ToolEntry(record, ())])
    assert store.complete_record(0) == record and store.entry(0).record == replace(record, outputs=(), links=())


def test_an_operation_of_another_process_has_the_same_json() -> None:
    operation = Operation("GET", "/charges", parameters=(OperationParameter("day", "query"),))
    row = {"method": "GET", "path": "/charges", "parameters": [{"argument": "day", "place": "query"}]}
    sent = pickle.loads(pickle.dumps(operation))
    assert (sent, sent.to_json(), operation.to_json()) == (operation, row, row)


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
