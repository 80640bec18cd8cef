"""Any record survives its JSON."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.records import record_hash
from router.record import Origin, Parameter, ToolRecord

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)
OBJECT = st.dictionaries(TEXT, VALUE, max_size=4)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
RECORDS: st.SearchStrategy[ToolRecord] = st.builds(
    ToolRecord,
    tool_id=TEXT,
    provider=st.none() | TEXT,
    name=TEXT,
    description=TEXT,
    parameters=st.lists(st.builds(Parameter, TEXT, TEXT, TEXT, TEXTS, st.booleans()), max_size=3).map(tuple),
    input_schema=OBJECT,
    examples=TEXTS,
    categories=TEXTS,
    annotations=OBJECT,
    deprecated=st.booleans(),
    origin=st.builds(Origin, TEXT, TEXT),
)


@given(record=RECORDS)
@example(record=ToolRecord("a", None, "a", ""))
def test_a_record_comes_back_from_its_json_as_it_was(record: ToolRecord) -> None:
    row: dict[str, Any] = json.loads(json.dumps(record.to_json()))
    again = ToolRecord.from_json(row)
    assert again == record
    assert again.to_json() == row
    assert record_hash(again) == record_hash(record)
