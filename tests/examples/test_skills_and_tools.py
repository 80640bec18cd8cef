"""examples/skills_and_tools: one ranking of skills and tools, and what a model reads of each."""

from tests.examples.conftest import Run

PROGRAM = "skills_and_tools/choose.py"


def test_a_skill_stands_beside_the_tools_and_its_text_is_read_by_a_call(run: Run) -> None:
    lines = run(PROGRAM).splitlines()
    assert lines[:4] == [
        "request: hand in the expenses of my trip to Vienna",
        "  1. tool travel/submit_expenses",
        "  2. skill skills/expense-report",
        "  3. tool travel/find_trips",
    ]
    assert lines[4] == "a model is given 3 of 5:"
    assert lines[6].startswith("  skills__expense-report: Skill, call it to read how: Write up the expenses of a")
    assert not any("daily rate" in line for line in lines[:8])
    assert lines[8:10] == ["the model calls skills__expense-report and is answered:", "  # Expense reports"]
    assert lines[-1] == "  (beside it: references/rates.csv)"


def test_a_kind_leaves_the_others_out(run: Run) -> None:
    lines = run(PROGRAM, "what is new in this version", "--kind", "skill").splitlines()
    assert lines[1:3] == ["  1. skill skills/release-notes", "a model is given 1 of 5:"]
    assert run(PROGRAM, "--kind", "prompt").splitlines()[1:] == ["a model is given 0 of 5:"]
