"""Live MCP servers: real programs over stdio and over HTTP on loopback."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import SourceSettings
from pipeline.sources import RawTool
from pipeline.sources.transport import mcp_client
from router.record import Kind, Origin, Parameter
from tests.pipeline.sources.reading import tools
from tests.pipeline.sources.web import Web

SERVER = str(Path(__file__).parents[1] / "mcp_server.py")
HERE = Path(__file__).parents[1]


def _stdio(*arguments: str, timeout_s: float = 60) -> SourceSettings:
    return SourceSettings(command=(sys.executable, *arguments), timeout_s=timeout_s)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def http_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, log_path = _free_port(), tmp_path_factory.mktemp("mcp") / "server.log"
    with log_path.open("wb") as log:
        server = subprocess.Popen([sys.executable, SERVER, "http", str(port)], stdout=log, stderr=log)
        try:
            until = time.monotonic() + 60
            while not _answers(port):
                assert server.poll() is None, log_path.read_text(encoding="utf-8")
                assert time.monotonic() < until, "the server did not open its port"
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.kill()
            server.wait()


def test_all_pages_of_a_server_over_stdio_are_read() -> None:
    source = _stdio(SERVER, "stdio", "pages")
    assert tools(mcp_client.read_live(source, HERE)) == [
        RawTool(
            name=f"tool_{page}",
            origin=Origin(sys.executable, f"/tools/{page - 1}"),
            description=f"Of page {page}.",
            input_schema={"type": "object", "properties": {"q": {"type": "string"}}},
            provider="pager",
            annotations={"readOnlyHint": True, "title": f"Tool {page}"},
        )
        for page in (1, 2, 3)
    ]


def test_prompts_are_read_where_the_source_asks_for_them() -> None:
    source = SourceSettings(command=(sys.executable, SERVER, "stdio", "pages"), timeout_s=60, prompts=True)
    found = tools(mcp_client.read_live(source, HERE))
    assert [(one.name, one.kind, one.origin.pointer) for one in found[3:]] == [
        ("prompt_1", Kind.PROMPT, "/prompts/0"),
        ("prompt_2", Kind.PROMPT, "/prompts/1"),
    ]
    assert found[4].input_schema["required"] == ["repo"]


def test_a_server_without_prompts_is_asked_for_none() -> None:
    source = SourceSettings(command=(sys.executable, SERVER, "stdio", "environment"), timeout_s=60, prompts=True)
    assert [one.kind for one in tools(mcp_client.read_live(source, HERE))] == [Kind.TOOL]


def test_a_server_over_http_is_read(http_server: str) -> None:
    (tool,) = tools(mcp_client.read_live(SourceSettings(url=http_server, timeout_s=60), HERE))
    assert (tool.name, tool.provider, tool.description) == ("forecast", "weather", "Forecast for a city.")
    assert tool.origin == Origin(http_server, "/tools/0")
    assert list(tool.input_schema["properties"]) == ["city", "days"]
    assert tool.input_schema["required"] == ["city"]
    assert tool.outputs == (Parameter("result", "string", required=True),)


def _stop(source: SourceSettings) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        list(mcp_client.read_live(source, HERE))
    return stopped.value


def test_a_command_runs_in_the_catalogs_folder_with_the_programs_of_this_environment(tmp_path: Path) -> None:
    (tmp_path / "server.py").symlink_to(SERVER)
    source = SourceSettings(command=("python", "server.py", "stdio", "pages"), timeout_s=60)
    found = tools(mcp_client.read_live(source, tmp_path))
    assert [tool.origin for tool in found] == [Origin("python", f"/tools/{index}") for index in range(3)]


def test_a_server_that_repeats_its_cursor_stops_the_run() -> None:
    stopped = _stop(_stdio(SERVER, "stdio", "repeat"))
    assert str(stopped).startswith(f"the MCP server '{sys.executable}' could not be read")
    assert "gave the cursor 'same' twice" in str(stopped)
    assert not isinstance(stopped, Unavailable)


def test_a_server_that_breaks_off_between_pages_is_unavailable_not_a_shorter_list() -> None:
    stopped = _stop(_stdio(SERVER, "stdio", "breaks-off"))
    assert f"the MCP server '{sys.executable}' could not be read" in str(stopped)
    assert isinstance(stopped, Unavailable)


def test_a_login_page_in_place_of_a_server_stops_the_run(web: Web) -> None:
    url = web.page("<!doctype html><html>Sign in</html>", headers={"content-type": "text/html"})
    assert str(_stop(SourceSettings(url=url, timeout_s=60))).startswith(f"the MCP server '{url}' could not be read")


def test_a_server_that_never_answers_stops_the_run_in_time() -> None:
    stopped = _stop(_stdio("-c", "import time; time.sleep(600)", timeout_s=2))
    assert str(stopped) == f"the MCP server '{sys.executable}' did not list its tools within 2 s"
    assert isinstance(stopped, Unavailable)


def test_a_program_that_ends_at_once_is_unavailable() -> None:
    stopped = _stop(_stdio("-c", "pass"))
    assert f"the MCP server '{sys.executable}' could not be read" in str(stopped)
    assert isinstance(stopped, Unavailable)


def test_a_command_that_does_not_exist_stops_the_run(tmp_path: Path) -> None:
    command = str(tmp_path / "no-such-server")
    stopped = _stop(SourceSettings(command=(command, "--stdio")))
    assert str(stopped).startswith(f"the command '{command}' is not installed: ")
    assert not isinstance(stopped, Unavailable)


def test_an_unreachable_url_is_unavailable() -> None:
    url = f"http://127.0.0.1:{_free_port()}/mcp"
    stopped = _stop(SourceSettings(url=url))
    assert str(stopped).startswith(f"the MCP server '{url}' could not be read: ConnectError")
    assert isinstance(stopped, Unavailable)


def test_a_url_that_is_no_mcp_server_stops_the_run(http_server: str) -> None:
    url = http_server.replace("/mcp", "/elsewhere")
    stopped = _stop(SourceSettings(url=url, timeout_s=60))
    assert f"the MCP server '{url}' could not be read" in str(stopped)
    assert not isinstance(stopped, Unavailable)


@pytest.mark.parametrize(("status", "passes"), [(401, False), (429, True), (500, True), (503, True)])
def test_only_a_server_that_is_busy_or_broken_is_unavailable(web: Web, status: int, passes: bool) -> None:
    stopped = _stop(SourceSettings(url=web.page("", status=status), timeout_s=60))
    assert f"(HTTP {status})" in str(stopped)
    assert isinstance(stopped, Unavailable) is passes


def test_neither_message_nor_origin_tells_what_may_be_a_secret(tmp_path: Path, http_server: str) -> None:
    command = str(tmp_path / "no-such-server")
    assert "sk-secret" not in str(_stop(SourceSettings(command=(command, "--key", "sk-secret"))))
    url = f"http://ada:sk-secret@127.0.0.1:{_free_port()}/mcp?key=sk-secret#sk-secret"
    assert "sk-secret" not in str(_stop(SourceSettings(url=url)))
    (tool,) = tools(mcp_client.read_live(SourceSettings(url=f"{http_server}?key=sk-secret", timeout_s=60), HERE))
    assert tool.origin.file == http_server


def test_an_answer_that_is_not_of_mcp_is_told_in_plain_english() -> None:
    message = str(_stop(_stdio(SERVER, "stdio", "malformed")))
    assert "its answer is not as MCP has it: " in message and "inputSchema must be an object" in message
    assert "validation error" not in message and "pydantic" not in message and "\n" not in message
