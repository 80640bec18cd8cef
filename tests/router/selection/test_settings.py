"""A selection is checked when it is made or loaded; what is out of range is refused with the field and its range."""

import json
from pathlib import Path
from typing import Any

import pytest

from router.errors import SettingsInvalid
from router.selection import Selection, Weights


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"min_combined_score": 1.5}, r"min_combined_score is 1\.5, it must be a number from 0 to 1$"),
        ({"min_combined_score": True}, r"min_combined_score is True, it must be a number"),
        ({"min_lexical_overlap": -1}, r"min_lexical_overlap is -1, it must be a whole number from 0 up"),
        ({"min_lexical_overlap": 1.0}, r"min_lexical_overlap is 1\.0, it must be a whole number"),
        ({"candidate_pool_size": 0}, r"candidate_pool_size is 0, it must be a whole number from 1 up"),
        ({"category_confidence_threshold": -0.1}, r"threshold is -0\.1, it must be a number from 0 to 1, or left out"),
        ({"category_confidence_threshold": float("nan")}, r"threshold is nan, it must be"),
        ({"weights": {"tag": 2}}, r"weights\.tag is 2, it must be a number from 0 to 1, or left out"),
        ({"weights": {"intent": 1}}, r"there is no field weights\.intent: choose from embed, lexical, tag"),
        ({"weights": 1}, r"weights is 1, it must be a table of embed"),
        ({"allow": "stripe/*"}, r"allow is 'stripe/\*', it must be a list of texts"),
        ({"block": ["a", ""]}, r"block is \('a', ''\), it must be a list of texts"),
        ({"annotations": ["readOnlyHint"]}, r"annotations is \['readOnlyHint'\], it must be a table"),
        ({"fallback_to_empty": "no"}, r"fallback_to_empty is 'no', it must be true or false"),
        ({"alow": []}, r"there is no field alow: choose from allow, block"),
    ],
)
def test_what_is_out_of_range_is_refused_with_the_field_and_its_range(row: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsInvalid, match=says):
        Selection.from_json(row)


FULL = {
    "allow": ["stripe/*"],
    "block": ["*delete*"],
    "annotations": {"readOnlyHint": True},
    "use_category_filter": True,
    "category_confidence_threshold": 0.7,
    "min_lexical_overlap": 1,
    "min_combined_score": 0.35,
    "weights": {"embed": 0.7, "lexical": 0.2, "tag": 0.05, "name": 0.05},
    "always": ["agents/handoff"],
}
TOML = """
[selection]
allow = ["stripe/*"]
block = ["*delete*"]
annotations = { readOnlyHint = true }
use_category_filter = true
category_confidence_threshold = 0.7
min_lexical_overlap = 1
min_combined_score = 0.35
weights = { embed = 0.7, lexical = 0.2, tag = 0.05, name = 0.05 }
always = ["agents/handoff"]
"""


def test_toml_json_and_python_give_the_same_selection(tmp_path: Path) -> None:
    (tmp_path / "selection.toml").write_text(TOML)
    (tmp_path / "selection.json").write_text(json.dumps(FULL))
    loaded = Selection.load(tmp_path / "selection.toml")
    assert loaded == Selection.load(tmp_path / "selection.json") == Selection.from_json(FULL)
    assert loaded.weights == Weights(embed=0.7, lexical=0.2, tag=0.05, name=0.05)
    assert Selection.from_json(json.loads(json.dumps(loaded.to_json()))) == loaded


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.toml", "allow = [", r"a\.toml cannot be read"),
        ("a.json", "[1]", r"a\.json is not a table of fields"),
        ("a.toml", "min_combined_score = 3", r"a\.toml: selection: min_combined_score is 3"),
        ("a.json", "\x00", r"a\.json cannot be read"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_name(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsInvalid, match=says):
        Selection.load(tmp_path / name)
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        Selection.load(tmp_path / "missing.toml")


def test_a_list_in_python_is_taken_as_the_tuple_that_a_file_gives() -> None:
    assert Selection(allow=["stripe/*"], always=["a"]) == Selection(allow=("stripe/*",), always=("a",))  # type: ignore[arg-type]


def test_the_pool_is_five_times_k_and_twenty_at_least_unless_it_is_set() -> None:
    assert [Selection().pool(k) for k in (1, 4, 5, 10)] == [20, 20, 25, 50]
    assert Selection(candidate_pool_size=7).pool(10) == 7


def test_embed_alone_counts_where_no_weight_is_set() -> None:
    assert Weights().resolved() == {"embed": 1, "lexical": 0, "tag": 0, "name": 0, "category": 0}
    assert Weights(name=0.5).resolved() == {"embed": 0, "lexical": 0, "tag": 0, "name": 0.5, "category": 0}


def test_lists_names_and_wildcards_are_bounded() -> None:
    with pytest.raises(SettingsInvalid, match=r"allow has 10,001 entries, it may have 10,000 at most"):
        Selection(allow=("a",) * 10_001)
    with pytest.raises(SettingsInvalid, match=r"always has 'aaa.*'… of 1,025 characters, it may have 1,024 at most"):
        Selection(always=("a" * 1_025,))
    with pytest.raises(
        SettingsInvalid, match=r"allow and block have 1,001 wildcards \(\* \? \[\), they may have 1,000"
    ):
        Selection(allow=("*",), block=("*a" * 500, "*a" * 500))
    assert Selection(allow=("*a?[b]",), block=("*",)).wildcards == 4


def test_values_nested_without_end_are_refused(tmp_path: Path) -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SettingsInvalid, match="annotations are nested deeper than 32 levels"):
        Selection(annotations={"readOnlyHint": deep})
    with pytest.raises(SettingsInvalid, match=r"weights is \[\[\[\[\[\[\[\.\.\."):
        Selection.from_json({"weights": deep})
    for name, text in {"deep.json": '{"allow": ', "deep.toml": "allow = "}.items():
        (tmp_path / name).write_text(text + "[" * 100_000, encoding="utf-8")
        with pytest.raises(SettingsInvalid, match=f"the selection .*{name} cannot be read"):
            Selection.load(tmp_path / name)
