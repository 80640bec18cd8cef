"""What is judged, and that neither memory nor order changes what is found."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.phrase_checks.assessment import assess
from pipeline.phrase_checks.subject import Findings
from pipeline.phrase_checks.vectors import AssessedTool
from pipeline.settings import AssessmentSettings
from router.record import Parameter
from router.tools.field_text import project_record
from tests.pipeline.phrase_checks.makers import Catalog, vectors
from tests.support.factories import make_expansion, make_record

# Finds fault in catalogs of random vectors.
LOOSE = AssessmentSettings(misplaced_lead=1, inconsistent_lead=1, max_share=1)


def test_a_tool_holds_the_record_as_the_encoder_reads_it_and_each_phrase_once() -> None:
    record, expansion = make_record(description="Returns charges."), make_expansion("show me", "list all")
    tool = AssessedTool.of(record, expansion)
    assert tool.text == "stripe: list_charges. Returns charges."
    assert tool.phrases == project_record(record, expansion).phrases == ("show me", "list all", "Use it.")
    assert AssessedTool.of(record, None).phrases == ()
    parameters = tuple(Parameter(path, "string") for path in ("filter.createdAfter", "limit", "page.limit"))
    named = make_record("listCharges", description="TODO", parameters=parameters)
    assert AssessedTool.of(named, None).interface == "stripe: list charges, created after, limit"
    # Tools of equal name and description are the same tool, whoever offers it.
    assert AssessedTool.of(make_record(provider="fork", description="Returns charges."), None).content == tool.content
    assert AssessedTool.of(make_record(description="Deletes charges."), None).content != tool.content
    twice = AssessedTool("t", "", "", ("one", "two"), "one")
    assert twice.phrases == ("one", "two")
    assert [twice.fields(phrase) for phrase in twice.phrases] == [["user_phrases", "when_to_use"], ["user_phrases"]]


def test_without_phrases_there_is_nothing_to_say_and_vectors_of_others_are_refused() -> None:
    assert Catalog().assess() == Catalog().fill(30).assess() == Findings()
    with pytest.raises(ValueError, match="1 tools with 2 phrases have 1 and 1 vectors"):
        assess([AssessedTool("t", "", "", ("one", "two"))], vectors("a"), vectors("a"), vectors("a"))


def random_catalog(
    seed: int, tools: int, *, axes: bool
) -> tuple[list[AssessedTool], list[np.ndarray], list[np.ndarray]]:
    """Subjects with, tool by tool, their record's vector and their phrases'; along axes there are many ties."""
    rng = np.random.default_rng(seed)

    def draw(rows: int) -> np.ndarray:
        drawn = np.eye(6)[rng.integers(0, 6, rows)] if axes else rng.normal(size=(rows, 6))
        unit: np.ndarray = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
        return unit

    counts = rng.integers(0, 5, tools)
    contents = rng.integers(0, 2 * tools, tools)
    phrases = [tuple(f"{i} {n}" for n in range(count)) for i, count in enumerate(counts)]
    subjects = [AssessedTool(f"t{i:02d}", "", f"{contents[i]}", phrases[i]) for i in range(tools)]
    return subjects, [draw(1) for _ in range(tools)], [draw(count) for count in counts]


SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, tools=st.integers(1, 40), axes=st.booleans(), block=st.integers(1, 500))
def test_the_size_of_a_block_changes_nothing(seed: int, tools: int, axes: bool, block: int) -> None:
    subjects, records, phrases = random_catalog(seed, tools, axes=axes)
    matrices = np.vstack(records), np.vstack(records[::-1]), np.vstack(phrases)
    assert assess(subjects, *matrices, LOOSE, block=block) == assess(subjects, *matrices, LOOSE)


@given(seed=SEEDS, tools=st.integers(20, 40))
def test_the_order_of_the_tools_changes_nothing(seed: int, tools: int) -> None:
    subjects, records, phrases = random_catalog(seed, tools, axes=False)
    order = np.random.default_rng(seed).permutation(tools)
    there = assess(subjects, np.vstack(records), np.vstack(records), np.vstack(phrases), LOOSE)
    moved = assess(
        [subjects[i] for i in order],
        np.vstack([records[i] for i in order]),
        np.vstack([records[i] for i in order]),
        np.vstack([phrases[i] for i in order]),
        LOOSE,
    )
    # Of two other tools that fit within the last digits the first is named: which that is, is a matter of order.
    unnamed = [{replace(verdict, detail="") for verdict in found.verdicts} for found in (moved, there)]
    assert unnamed[0] == unnamed[1]
    assert set(moved.siblings) == set(there.siblings)


@given(seed=SEEDS, tools=st.integers(1, 40), axes=st.booleans())
def test_every_verdict_is_of_a_phrase_and_names_another_tool(seed: int, tools: int, axes: bool) -> None:
    subjects, records, phrases = random_catalog(seed, tools, axes=axes)
    found = assess(subjects, np.vstack(records), np.vstack(records), np.vstack(phrases), LOOSE)
    by_id = {subject.tool_id: subject for subject in subjects}
    assert len({(v.tool_id, v.field, v.text) for v in found.verdicts}) == len(found.verdicts)
    for verdict in found.verdicts:
        assert verdict.text in by_id[verdict.tool_id].phrases
        assert by_id[verdict.detail].content != by_id[verdict.tool_id].content
    for tool_id, near in found.siblings.items():
        assert 1 <= len(near) <= 3
        assert by_id[tool_id].content not in {by_id[other].content for other in near}
