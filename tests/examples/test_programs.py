"""Examples beside the agents: over tools in memory, over a build, and over a server. Each prints what it is for."""

import json
import re
from pathlib import Path

import pytest

from tests.examples.conftest import Run
from tests.quartermaster.serving.mcp.conftest import listening
from tests.support.factories import TOOLS
from tests.support.places import ROOT


def test_the_function_that_fits_is_called_with_typed_arguments_and_wrong_ones_are_refused(run: Run) -> None:
    printed = run("functions_in_memory.py")
    assert "1. refund_order, rank by signal: {" in printed
    assert printed.splitlines()[-1] == "  refunded A-17: 12.5, because it was broken"
    printed = run("functions_in_memory.py", "is my parcel on its way", '{"order": "A-17"}')
    assert printed.splitlines()[-1] == "  refused: track_parcel: the argument 'since' is missing"


def test_the_stable_selection_is_cached_and_costs_less(run: Run) -> None:
    lines = run("stable_prefix.py").splitlines()
    turns = [line.partition("  new: ")[0].split()[-4:] for line in lines[1:-1]]
    assert len(turns) == 6
    tokens = [int(turn[2]) for turn in turns]
    cached = [int(turn[3]) for turn in turns]
    assert cached[0] == 0 and cached[1:] == tokens[:-1]  # each turn begins with all of the one before
    afresh, stable = map(int, lines[-1].split()[-2:])
    assert stable < 0.6 * afresh


def test_requests_are_written_measured_and_compared(run: Run, folder: Path) -> None:
    written, figures, worst, difference = run("evaluate_requests.py").split("\n\n")
    assert written == "8 requests written to judgements.jsonl"
    lines = (folder / "judgements.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in lines].count("multi") == 1
    assert figures.splitlines()[0] == "recipe default, 8 requests, 8 tools"
    values = {line.split()[0]: float(line.split()[1]) for line in figures.splitlines()[1:]}
    assert 0.4 < values["nDCG@10"] < 1
    assert "needed   disable_user: in no list: it has no word in common with the request" in worst
    assert difference.startswith("default less lexical")
    assert difference.count("p = ") == 6


@pytest.mark.nightly
def test_the_client_shows_tools_filters_and_mistakes(
    run: Run, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERMASTER_TOKEN", "a-token-of-twenty-letters")
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
    assert printed[-2:] == [
        "read-only tools alone: none",
        "k = 0 is refused: 422 k: k is 0, it must be a whole number from 1 to 128",
    ]
    assert refused.startswith(f"{url} refuses: 401 ")


def test_without_a_server_the_client_says_how_to_start_one(run: Run) -> None:
    printed = run("http_client.py", QUARTERMASTER_URL="http://127.0.0.1:9", returns=1)
    assert printed == "no server at http://127.0.0.1:9: start one with `quartermaster serve http`\n"


@pytest.mark.nightly
def test_the_routed_operation_of_an_app_is_called_through_the_app(run: Run, folder: Path) -> None:
    printed = run("fastapi_catalog.py")
    assert "bakery/place_order, POST /customers/{customer}/orders" in printed
    assert printed.splitlines()[-1] == (
        "  {'number': 1, 'customer': 'Ada', 'gift': True, 'product': 'rye bread', 'pieces': 2}"
    )
    assert (folder / ".quartermaster" / "bakery.openapi.json").is_file()


@pytest.mark.nightly
def test_an_api_is_called_with_a_key_that_no_file_holds_and_the_page_shows_it(run: Run, folder: Path) -> None:
    printed = run("call_openapi.py")
    assert f"```text\n{printed}```" in (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    assert printed.splitlines()[-1] == 'bakery/place_order {"customer":"Ada & Co","product":"rye","pieces":2}'
    written = [path for path in (folder / ".quartermaster").rglob("*") if path.is_file()]
    assert written and not [path for path in written if b"crust-and-crumb" in path.read_bytes()]


@pytest.mark.nightly
def test_an_mcp_client_finds_describes_and_calls_tools_of_one_session(run: Run) -> None:
    printed = run("mcp_client/client.py")
    assert printed.startswith("3 tools in ")
    assert "the server offers find_tools, describe_tool, call_tool" in printed
    assert "    notes/write_note(text: string) — Write a note down." in printed
    assert re.search(r'describe_tool.*\n +\{"tool_id":"notes/write_note",.*"required":\["text"\]', printed)
    # The upstream was started once and kept: the note that one call wrote is there for the next.
    assert "    note 1 is written" in printed
    assert printed.splitlines()[-1] == "    The milk is out."


@pytest.mark.nightly
def test_each_night_reports_what_changed_and_one_without_its_source_changes_nothing(run: Run, folder: Path) -> None:
    program, tools = "nightly_build/nightly.py", folder / "nightly_build" / "helpdesk.functions.json"
    current = folder / ".quartermaster" / "snapshots" / "helpdesk" / "CURRENT"
    first = run(program).splitlines()
    assert "published: 6 tools in " in first[0]
    assert first[1].startswith("  new: helpdesk/close_ticket, ") and first[1].endswith(", …")
    assert first[2] == "  tools with new phrases: none; 0.00 US dollars"
    assert first[3].startswith("  4 judged requests: nDCG@10 0.")

    definitions = tools.read_text(encoding="utf-8")
    tools.write_text(definitions.replace("close_ticket", "solve_ticket").replace("Disable an", "Lock an"), "utf-8")
    assert run(program).splitlines()[1:4] == [
        "  new: helpdesk/solve_ticket",
        "  changed: helpdesk/disable_account",
        "  gone: helpdesk/close_ticket",
    ]

    serving = current.read_text(encoding="utf-8")
    tools.write_text(definitions[1:], "utf-8")
    assert re.search(r"  went without: .* ago\) keeps its last known records: ", run(program))
    assert current.read_text(encoding="utf-8") == serving


@pytest.mark.nightly
def test_a_skill_stands_beside_the_tools_and_its_text_is_read_by_a_call(run: Run) -> None:
    program = "skills_and_tools/choose.py"
    ranked, answered = run(program).split("the model calls skills__expense-report and is answered:\n")
    assert re.findall(r"\d\. (\w+ \S+)", ranked) == [
        "tool travel/submit_expenses",
        "skill skills/expense-report",
        "tool travel/find_trips",
    ]
    assert "a model is given 3 of 5:" in ranked and "daily rate" not in ranked
    assert answered.startswith("  # Expense reports\n") and answered.endswith("  (beside it: references/rates.csv)\n")
    of_a_kind = run(program, "what changed for users", "--kind", "skill").splitlines()
    assert of_a_kind[1:3] == ["  1. skill skills/release-notes", "a model is given 1 of 5:"]
