"""The loopback Messages API refuses what Anthropic's does: else the tests that drive it would show little."""

from typing import Any

import pytest

pytest.importorskip("anthropic", reason="anthropic is not installed")

from tests.support.providers.anthropic_rules import Refused, check, prompt_of

USE = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
ASKED = {"role": "user", "content": "hello"}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object", "properties": {}}, **more}


def reference(name: str) -> dict[str, Any]:
    return {"type": "tool_reference", "tool_name": name}


def answered(content: Any, **more: Any) -> list[dict[str, Any]]:
    """Return a dialogue whose one call gets this result."""
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **more}
    return [ASKED, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [result]}]


def request(*tools: dict[str, Any], messages: Any = (ASKED,), **more: Any) -> dict[str, Any]:
    return {"model": "claude-test", "max_tokens": 9, "messages": list(messages), "tools": list(tools), **more}


SEARCH, FOUND = tool("search"), tool("found", defer_loading=True)


def test_a_request_as_documented_is_accepted_and_the_model_reads_what_is_referenced_at_its_place() -> None:
    before, after = request(SEARCH, FOUND), request(SEARCH, FOUND, messages=answered([reference("found")]))
    check(before)
    check(after)
    assert '"name": "found"' not in prompt_of(before)
    assert '"name": "found"' in prompt_of(after) and prompt_of(after).startswith(prompt_of(before))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (request(tool("a", defer_loading=True)), "At least one tool must have defer_loading=false"),
        (request(SEARCH, messages=answered([reference("found")])), "Tool reference 'found' not found in available"),
        (request(SEARCH, tool("found"), messages=answered([reference("found")])), "must be of a tool with defer"),
        (request(SEARCH, FOUND, messages=answered([reference("found"), text("x")])), "cannot be mixed with other"),
        (request(SEARCH, FOUND, messages=answered([reference("found")], is_error=True)), "all content must be type"),
        (request(SEARCH, SEARCH), "Tool names must be unique"),
        (request(tool("a.b")), "tools.0.custom.name: String should match pattern"),
        (request(tool("a", parameters={})), "Extra inputs are not permitted"),
        (request({"name": "a", "input_schema": {"type": "object", "anyOf": [{}]}}), "does not support oneOf"),
        (request(*(tool(f"t{n}", strict=True) for n in range(21))), "Too many strict tools"),
        (request(SEARCH, messages=(ASKED, {"role": "assistant", "content": [USE]})), "without `tool_result` blocks"),
        (request(SEARCH, messages=[ASKED, answered("x")[2]]), "unexpected `tool_use_id`"),
    ],
)  # fmt: skip
def test_a_request_that_breaks_a_rule_is_refused_with_the_apis_sentence(body: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence.replace("(", r"\(")):
        check(body)
