"""A provider format is one entry of the table: tools are rendered, counted and routed in it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import regex

from pipeline.tokens import TokenCounter
from router import Router
from router.provider_formats.formats import Detail, FormatSpec, ProviderFormat
from router.provider_formats.names import id_of, legal_name
from router.provider_formats.rendering import render
from router.provider_formats.shaping import ToolShaper
from router.snapshot.loading import estimated_tokens
from tests.pipeline.test_tokens import CL100K
from tests.support.factories import make_record

RECORD = make_record("send.mail", input_schema={"type": "object", "properties": {"to": {"type": "string"}}})


@pytest.fixture
def cohere(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderFormat]:
    """An entry more in the table."""
    form = str.__new__(ProviderFormat, "cohere")
    form._name_, form._value_ = "COHERE", "cohere"
    form.spec = FormatSpec(("toolSpec", "inputSchema", "json"), 64, cap=2, marks="-_:")
    monkeypatch.setattr(ProviderFormat, "_member_names_", [*ProviderFormat._member_names_, "COHERE"])
    monkeypatch.setitem(ProviderFormat._member_map_, "COHERE", form)
    monkeypatch.setitem(ProviderFormat._value2member_map_, "cohere", form)
    yield form


@pytest.mark.parametrize("form", ProviderFormat)
def test_the_schema_stands_where_the_format_says(form: ProviderFormat) -> None:
    shaper = ToolShaper(RECORD)
    part: Any = shaper.tool(form, Detail.FULL, "send", None)
    for key in form.spec.schema_path:
        part = part[key]
    assert part is shaper.schema(form, Detail.FULL)[0]


def test_a_new_format_renders_names_and_reads_them_back(cohere: ProviderFormat) -> None:
    rendered = render([RECORD], "cohere", strict=True)  # type: ignore[arg-type]  # no type checker knows its name
    (tool,) = rendered.tools
    assert tool["toolSpec"]["inputSchema"]["json"]["properties"] == {"to": {"type": "string"}}
    assert rendered.form is cohere and rendered.tool_id(tool["toolSpec"]["name"]) == RECORD.tool_id
    assert [note.reason for note in rendered.notes] == ["not strict: cohere has no strict mode"]
    name = legal_name(RECORD.tool_id, cohere)
    assert id_of(name, {RECORD.tool_id}.__contains__, dict) == RECORD.tool_id
    assert len(render([make_record(f"tool_{n}") for n in range(5)], cohere).tools) == 2


def test_a_new_format_is_counted_with_the_others(cohere: ProviderFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.tokens._tiktoken", lambda name: regex.compile(CL100K).findall)
    counter = TokenCounter()
    assert counter.counts([RECORD]).shape == (1, len(ProviderFormat), len(Detail))
    text = json.dumps(render([RECORD], cohere).tools[0], separators=(",", ":"), ensure_ascii=False)
    assert counter.count(RECORD, cohere) == counter.length(text)


def test_a_new_format_routes_over_a_snapshot_that_was_built_without_it(snapshot: Path, cohere: ProviderFormat) -> None:
    with Router.open(snapshot) as router:
        whole = router.route("refund a charge", k=3, form=cohere)
        assert len(whole) == 2 and [out.by for out in whole.dropped] == ["cap"]
        record = whole[0].record
        estimate = estimated_tokens(record, cohere)
        tokens = router.tokens(record.tool_id)
        assert tokens is not None and list(tokens["cohere"].values()) == estimate
        assert tokens["openai"] == (Router.open(snapshot).tokens(record.tool_id) or {})["openai"]
        routed = router.route("refund a charge", k=3, form=cohere, token_budget=estimate[0])
        assert routed.ids[0] == record.tool_id and routed.tokens == estimate[list(Detail).index(routed[0].detail)]
        assert routed.render().tools[0]["toolSpec"]["name"]
