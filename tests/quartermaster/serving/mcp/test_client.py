"""Questions of strangers' servers, as they may be shown to a user."""

from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest

from quartermaster.serving.mcp.client import CallingClient, presentable


def url_of(url: str) -> Any:
    params = types.ElicitRequestURLParams(message="Log in.", url=url, elicitation_id="1")
    return presentable(types.ElicitRequest(params=params), "bank")


@pytest.mark.parametrize("url", ["https://bank.example/login?a=1", "http://127.0.0.1:8000/x", "http://localhost/x"])
def test_a_url_that_a_browser_may_visit_is_passed_on(url: str) -> None:
    passed = url_of(url)
    assert (passed.params.url, passed.params.message) == (url, "The MCP server 'bank' asks: Log in.")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://bank.example/",
        "https://paypal.example@evil.example/",
        "https://b\u0430nk.example/",
        "https://[",
        "https://bank.example/ a",
        f"https://bank.example/{'x' * 2_000}",
    ],
)
def test_any_other_url_is_refused_with_the_reason(url: str) -> None:
    with pytest.raises(ValueError, match="the URL is not passed on: it must be https"):
        url_of(url)


def test_a_long_message_is_cut_and_a_question_of_more_than_a_megabyte_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = types.ElicitRequestFormParams(message="m" * 5_000, requested_schema=schema)
    shown: Any = presentable(types.ElicitRequest(params=form), "s")
    assert shown.params.message == f"The MCP server 's' asks: {'m' * 4_000}…"
    said = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="x" * 1_100_000))
    sampling = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[said], max_tokens=5))
    large = types.ElicitRequestFormParams(message="m" * 1_100_000, requested_schema=schema)
    for asked in (sampling, types.ElicitRequest(params=large)):
        with pytest.raises(ValueError, match="the question has more than 1,048,576 bytes"):
            presentable(asked, "s")


@pytest.mark.anyio
async def test_progress_that_does_not_grow_is_left_out_and_its_text_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quartermaster.serving.mcp.client._PROGRESS_INTERVAL_S", 0.0)
    steps: list[Any] = []

    class Session:
        async def report_progress(self, progress: float, _: float | None, message: str | None) -> None:
            steps.append((progress, message))

    client = CallingClient(SimpleNamespace(session=Session(), request=None))  # type: ignore[arg-type]
    for step in (1, 3, 2, 3, 4):
        await client.report_progress(step, None, "m" * 1_000)
    assert steps == [(step, "m" * 300) for step in (1, 3, 4)]
