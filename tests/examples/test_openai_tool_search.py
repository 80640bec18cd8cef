"""examples/openai_tool_search.py: a loop on the Responses API over a strict server, and the page that shows it."""

from tests.examples.conftest import Run
from tests.support.places import ROOT
from tests.support.providers.openai_responses import ResponsesServer
from tests.support.providers.openai_searching_model import search_then_call

PAGE = ROOT / "docs" / "integrations" / "openai.md"


def test_the_model_searches_in_each_turn_and_the_prompt_only_grows(run: Run) -> None:
    with ResponsesServer(search_then_call) as server:
        printed = run("openai_tool_search.py", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="sk-loopback")
    assert server.refused == [] and len(server.bodies) == 6
    assert printed.splitlines()[:3] == [
        "asked   what will the weather be like on Texel",
        "found   forecast",
        'tool    {"place":"some","days":1,"rain":false,"wind_kn":14}',
    ]
    assert [tool["type"] for tool in server.bodies[-1]["tools"]] == ["tool_search"]
    assert f"```text\n{printed}```" in PAGE.read_text(encoding="utf-8"), f"the page shows another run:\n{printed}"
