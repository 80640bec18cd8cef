"""Examples that build a catalog, and what they say of it."""

import re
from pathlib import Path

import pytest

from tests.examples.conftest import Run
from tests.support.places import ROOT

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]


def test_the_routed_operation_of_an_app_is_called_through_the_app(run: Run, folder: Path) -> None:
    printed = run("fastapi_catalog.py")
    assert "bakery/place_order, POST /customers/{customer}/orders" in printed
    assert printed.splitlines()[-1] == (
        "  {'number': 1, 'customer': 'Ada', 'gift': True, 'product': 'rye bread', 'pieces': 2}"
    )
    assert (folder / ".quartermaster" / "bakery.openapi.json").is_file()


def test_an_api_is_called_with_a_key_that_no_file_holds_and_the_page_shows_it(run: Run, folder: Path) -> None:
    printed = run("call_openapi.py")
    assert f"```text\n{printed}```" in (ROOT / "docs" / "calling.md").read_text(encoding="utf-8")
    assert printed.splitlines()[-1] == 'bakery/place_order {"customer":"Ada & Co","product":"rye","pieces":2}'
    written = [path for path in (folder / ".quartermaster").rglob("*") if path.is_file()]
    assert written and not [path for path in written if b"crust-and-crumb" in path.read_bytes()]


def test_an_mcp_client_finds_describes_and_calls_tools_of_one_session(run: Run) -> None:
    printed = run("mcp_client/client.py")
    assert printed.startswith("3 tools in ")
    assert "the server offers find_tools, describe_tool, call_tool" in printed
    assert "    notes/write_note(text: string) — Write a note down." in printed
    assert re.search(r'describe_tool.*\n +\{"tool_id":"notes/write_note",.*"required":\["text"\]', printed)
    # The upstream was started once and kept: the note that one call wrote is there for the next.
    assert "    note 1 is written" in printed
    assert printed.splitlines()[-1] == "    The milk is out."


def test_each_night_reports_what_changed_and_one_without_its_source_changes_nothing(run: Run, folder: Path) -> None:
    program, tools = "nightly_build/nightly.py", folder / "nightly_build" / "helpdesk.functions.json"
    current = folder / ".quartermaster" / "snapshots" / "helpdesk" / "CURRENT"
    first = run(program).splitlines()
    assert "published: 6 tools in " in first[0]
    assert first[1].startswith("  new: helpdesk/close_ticket, ") and first[1].endswith(", …")
    assert first[2] == "  tools with new phrases: 6 by lexicon; 0.00 US dollars"
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


def test_a_skill_stands_beside_the_tools_and_its_text_is_read_by_a_call(run: Run) -> None:
    program = "skills_and_tools/choose.py"
    lines = run(program).splitlines()
    assert lines[:4] == [
        "request: hand in the expenses of my trip to Vienna",
        "  1. tool travel/submit_expenses",
        "  2. skill skills/expense-report",
        "  3. tool travel/find_trips",
    ]
    assert lines[4] == "a model is given 3 of 5:"
    assert not any("daily rate" in line for line in lines[:8])
    assert lines[8:10] == ["the model calls skills__expense-report and is answered:", "  # Expense reports"]
    assert lines[-1] == "  (beside it: references/rates.csv)"

    of_a_kind = run(program, "what is new in this version", "--kind", "skill").splitlines()
    assert of_a_kind[1:3] == ["  1. skill skills/release-notes", "a model is given 1 of 5:"]
