"""examples/http_client.py: a client of `quartermaster serve http`."""

from pathlib import Path

import pytest

from tests.examples.conftest import Run
from tests.router.serving.mcp.conftest import listening
from tests.support.factories import TOOLS

TOKEN = "a-token-of-twenty-letters"


@pytest.mark.nightly
def test_the_client_shows_tools_filters_and_mistakes(
    run: Run, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERMASTER_TOKEN", TOKEN)
    command = ("-m", "quartermaster", "serve", "http", "--watch", "0", "--snapshot", snapshot, "--port")
    with listening(tmp_path, *command) as port:
        url = f"http://127.0.0.1:{port}"
        printed = run("http_client.py", "give the customer their money back", QUARTERMASTER_URL=url).splitlines()
        refused = run("http_client.py", QUARTERMASTER_URL=url, QUARTERMASTER_TOKEN="another", returns=1)
    assert printed[0] == f"8 tools of office, snapshot {snapshot.name}"
    assert printed[1].startswith("give the customer their money back: ") and "tokens" in printed[1]
    ids = [line.strip().partition("(")[0] for line in printed[2:5]]
    assert len(set(ids)) == 3 and set(ids) <= {tool["id"] for tool in TOOLS}
    assert "  stripe/create_refund(charge, amount)" in printed[2:5]
    assert printed[-2:] == ["read-only tools alone: none", "k = 0 is refused: 422 k: k must be at least 1"]
    assert refused.startswith(f"{url} refuses: 401 ")


def test_without_a_server_the_client_says_how_to_start_one(run: Run) -> None:
    printed = run("http_client.py", QUARTERMASTER_URL="http://127.0.0.1:9", returns=1)
    assert printed == "no server at http://127.0.0.1:9: start one with `quartermaster serve http`\n"
