"""Filters on tools before the search."""

import fnmatch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from router.selection.admission import admit
from router.selection.settings import Selection
from router.snapshot.facets import Facet, Facets

ROWS = (
    Facet("github/create_issue", "create_issue", "github", ("Issues",), {}),
    Facet("linear/create_issue", "create_issue", "linear", ("Issues", "Planning"), {"readOnlyHint": False}),
    Facet("linear/list_issues", "list_issues", "linear", ("Issues",), {"readOnlyHint": True}),
    Facet("notes", "notes", None, (), {"readOnlyHint": 1}),
    Facet("stripe/deleteCharge", "deleteCharge", "Stripe", ("Payments",), {"destructiveHint": True}),
)
FACETS = Facets(ROWS)


def admitted(selection: Selection, category: str | None = None, confidence: float | None = None) -> list[str]:
    found = admit(lambda: FACETS, selection, category, confidence).admitted
    mask = np.ones(len(ROWS), bool) if found is None else found.mask
    return [row.tool_id for row, kept in zip(ROWS, mask, strict=True) if kept]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(allow=("linear/*",)), ["linear/create_issue", "linear/list_issues"]),
        (Selection(allow=("LINEAR/Create_Issue", "notes")), ["linear/create_issue", "notes"]),
        (Selection(allow=("*issue*",), block=("github/*",)), ["linear/create_issue", "linear/list_issues"]),
        (Selection(block=("*delete*", "notes", "*/create_*")), ["linear/list_issues"]),
        (Selection(providers=("stripe", "GitHub")), ["github/create_issue", "stripe/deleteCharge"]),
        (Selection(categories=("planning", "payments")), ["linear/create_issue", "stripe/deleteCharge"]),
        (Selection(annotations={"readOnlyHint": True}), ["linear/list_issues"]),
        (Selection(annotations={"readOnlyHint": False}), ["linear/create_issue"]),
        (Selection(allow=("nothing*",)), []),
    ],
)
def test_filters_admit_the_tools_that_they_name(selection: Selection, expected: list[str]) -> None:
    assert admitted(selection) == expected


MARKS = st.text("ab*?[]-!|(.^", min_size=1, max_size=5).filter(str.strip)


@given(st.lists(MARKS, max_size=4), st.lists(MARKS, min_size=1, max_size=6, unique=True))
@example(["files/what[0]"], ["files/what0", "files/what[0]"])
def test_patterns_together_name_what_each_names(patterns: list[str], names: list[str]) -> None:
    found = Facets(tuple(Facet(name, name, None, (), {}) for name in names)).matching(patterns)
    assert found.tolist() == [any(name == p or fnmatch.fnmatchcase(name, p) for p in patterns) for name in names]


def test_what_the_last_filters_let_pass_is_looked_up_and_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    facets = Facets(ROWS)
    hints: dict[str, object] = {"readOnlyHint": True}
    first = [facets.matching(["*list*"]), facets.of_providers(["linear"]), facets.annotated(hints)]
    monkeypatch.setattr(Facets, "_where", None)
    monkeypatch.setattr(Facets, "_matching", None)
    again = [facets.matching(["*LIST*"]), facets.of_providers(["Linear"]), facets.annotated(dict(hints))]
    assert all(one is other for one, other in zip(first, again, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        first[0][:] = True
    monkeypatch.undo()
    assert facets.annotated({"readOnlyHint": 1}).tolist() == [False, False, False, True, False]
    assert all(facets.matching([f"*{number}*"]).sum() == 0 for number in range(600)) and len(facets._masks) <= 256


UNGATED = Selection(use_category_filter=True)
UNGATED_BLOCK = Selection(use_category_filter=True, block=("stripe/*",))
GATED = Selection(use_category_filter=True, category_confidence_threshold=0.7)


@pytest.mark.parametrize(
    ("selection", "category", "confidence", "expected", "note"),
    [
        (GATED, "issues", 0.7, 3, ""),
        (GATED, "issues", 0.69, 5, "its confidence is 0.69, and 0.7 is required"),
        (GATED, "issues", None, 5, "it came without a confidence, and 0.7 is required"),
        (GATED, "weather", 0.9, 5, "no tool that the selection allows has it"),
        (UNGATED, "payments", None, 1, ""),
        (UNGATED_BLOCK, "payments", 1.0, 4, "no tool that the selection allows has it"),
        (Selection(), "payments", 1.0, 5, ""),
    ],
)
def test_the_category_counts_where_its_confidence_reaches_the_threshold_and_a_tool_has_it(
    selection: Selection, category: str, confidence: float | None, expected: int, note: str
) -> None:
    assert len(admitted(selection, category, confidence)) == expected
    notes = admit(lambda: FACETS, selection, category, confidence).notes
    assert len(notes) == bool(note) and note in "".join(notes)


def test_a_name_that_no_tool_has_is_told_and_a_refused_tool_the_first_filter_that_leaves_it_out() -> None:
    selection = Selection(allow=("linear/*", "gone/*"), block=("linear/list_isues", "*list*"))
    admission = admit(lambda: FACETS, selection, None, None)
    assert admission.notes == ("block: no tool is called 'linear/list_isues'",), "a glob that finds none is not"
    not_allowed = ("allow", "not allowed by the selection (allow: linear/*, gone/*)")
    blocked = ("block", "blocked by the selection (block: linear/list_isues, *list*)")
    assert [admission.refusal(place) for place in range(5)] == [not_allowed, None, blocked, not_allowed, not_allowed]


def test_where_nothing_is_asked_for_no_record_is_looked_at() -> None:
    def facets() -> Facets:
        raise AssertionError("read")

    for selection, category in ((Selection(), "payments"), (UNGATED, None), (UNGATED, "  ")):
        assert admit(facets, selection, category, 1.0).admitted is None
