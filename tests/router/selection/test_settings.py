"""A selection is checked when it is made or loaded; what is out of range is refused with the field and its range."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from router.errors import SettingsInvalid
from router.selection.settings import Selection, Weights


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"min_combined_score": 1.5}, r"min_combined_score is 1\.5, it must be a number from 0 to 1$"),
        ({"min_lexical_overlap": -1}, r"min_lexical_overlap is -1, it must be a whole number from 0 to 1,000,000"),
        ({"candidate_pool_size": 0}, r"candidate_pool_size is 0, it must be a whole number from 1 to 1,000,000"),
        ({"category_confidence_threshold": float("nan")}, r"threshold is nan, it must be"),
        ({"weights": {"tag": 2}}, r"weights\.tag is 2, it must be a number from 0 to 1, or left out"),
        ({"weights": {"intent": 1}}, r"there is no field weights\.intent: choose from embed, lexical, tag"),
        ({"allow": "stripe/*"}, r"allow is 'stripe/\*', it must be a list of at most 10,000 entries"),
        ({"block": ["a", ""]}, r"block\[1\] is '', it must be a text that is not blank"),
        ({"annotations": ["readOnlyHint"]}, r"annotations is \['readOnlyHint'\], it must be a table"),
        ({"fallback_to_empty": "no"}, r"fallback_to_empty is 'no', it must be true or false"),
        ({"alow": []}, r"there is no field alow: choose from allow, block"),
    ],
)
def test_what_is_out_of_range_is_refused_with_the_field_and_its_range(row: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsInvalid, match=says):
        Selection.from_json(row)


TOML = """
[selection]
allow = ["stripe/*"]
annotations = { readOnlyHint = true }
min_combined_score = 0.35
weights = { embed = 0.7, lexical = 0.2 }
"""


def test_toml_json_and_python_give_the_same_selection(tmp_path: Path) -> None:
    row = tomllib.loads(TOML)["selection"]
    (tmp_path / "selection.toml").write_text(TOML)
    (tmp_path / "selection.json").write_text(json.dumps(row))
    loaded = Selection.load(tmp_path / "selection.toml")
    assert loaded == Selection.load(tmp_path / "selection.json") == Selection.from_json(row)
    assert loaded == Selection(
        allow=["stripe/*"],  # type: ignore[arg-type]
        annotations={"readOnlyHint": True},
        min_combined_score=0.35,
        weights=Weights(embed=0.7, lexical=0.2),
    )
    assert Selection.from_json(json.loads(json.dumps(loaded.to_json()))) == loaded


def test_what_is_left_out_has_a_default_that_depends_on_the_rest() -> None:
    assert [Selection().pool(k) for k in (1, 4, 5, 10)] == [20, 20, 25, 50]
    assert Selection(candidate_pool_size=7).pool(10) == 7
    assert Weights().resolved() == {"embed": 1, "lexical": 0, "tag": 0, "name": 0, "category": 0}
    assert Weights(name=0.5).resolved() == {"embed": 0, "lexical": 0, "tag": 0, "name": 0.5, "category": 0}


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", "[1]", r"a\.json is not a table of fields"),
        ("a.toml", "min_combined_score = 3", r"a\.toml: selection: min_combined_score is 3"),
        ("a.json", '{"allow": ' + DEEP, r"a\.json cannot be read"),
        ("a.toml", "allow = " + DEEP, r"a\.toml cannot be read"),
        ("a.toml", None, r"a\.toml cannot be read"),
    ],
    ids=lambda value: str(value)[:25],
)
def test_a_file_that_is_none_is_refused_with_its_name(tmp_path: Path, name: str, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SettingsInvalid, match=says):
        Selection.load(tmp_path / name)


def test_values_nested_without_end_are_refused() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SettingsInvalid, match="annotations are nested deeper than 32 levels"):
        Selection(annotations={"readOnlyHint": deep})
    with pytest.raises(SettingsInvalid, match=r"weights is \[\[\[\[\[\[\[\.\.\."):
        Selection.from_json({"weights": deep})


def test_lists_names_and_wildcards_are_bounded() -> None:
    with pytest.raises(SettingsInvalid, match=r"\(10,001 entries\), it must be a list of at most 10,000"):
        Selection(allow=("a",) * 10_001)
    with pytest.raises(
        SettingsInvalid, match=r"always\[0\] is 'aaa.*' \(1,025 characters\), it must .* of at most 1,024"
    ):
        Selection(always=("a" * 1_025,))
    with pytest.raises(
        SettingsInvalid, match=r"allow and block have 1,001 wildcards \(\* \? \[\), they may have 1,000"
    ):
        Selection(allow=("*",), block=("*a" * 500, "*a" * 500))
    assert Selection(allow=("*a?[b]",), block=("*",)).wildcards == 4
