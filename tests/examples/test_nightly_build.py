"""examples/nightly_build: a build that reports what the night changed."""

from pathlib import Path

from pipeline.settings import load
from tests.examples.conftest import EXAMPLES, Run

PROGRAM = "nightly_build/nightly.py"


def test_each_night_reports_what_changed_and_one_without_its_source_changes_nothing(run: Run, folder: Path) -> None:
    first = run(PROGRAM).splitlines()
    assert "published: 6 tools in " in first[0]
    assert first[1].startswith("  new: helpdesk/close_ticket, ") and first[1].endswith(", …")
    assert first[2] == "  tools with new phrases: 6 by lexicon; 0.00 US dollars"
    assert first[3].startswith("  4 judged requests: nDCG@10 0.")

    tools = folder / "nightly_build" / "helpdesk.functions.json"
    definitions = tools.read_text(encoding="utf-8")
    tools.write_text(definitions.replace("close_ticket", "solve_ticket").replace("Disable an", "Lock an"), "utf-8")
    second = run(PROGRAM).splitlines()
    assert second[1:4] == [
        "  new: helpdesk/solve_ticket",
        "  changed: helpdesk/disable_account",
        "  gone: helpdesk/close_ticket",
    ]

    serving = (folder / ".quartermaster" / "snapshots" / "helpdesk" / "CURRENT").read_text(encoding="utf-8")
    tools.write_text(definitions[1:], "utf-8")
    assert "  went without: 1 source could not be read and keeps its last known records" in run(PROGRAM)
    assert (folder / ".quartermaster" / "snapshots" / "helpdesk" / "CURRENT").read_text(encoding="utf-8") == serving


def test_its_catalog_sets_what_the_page_says() -> None:
    settings = load(EXAMPLES / "nightly_build", environment={})
    assert (settings.enrichment.max_cost_usd, settings.sources.skip_unreadable) == (2.0, True)
