"""Figures by language: slices, how far the default lies below the better list, what is refused, what is left out."""

from pathlib import Path

from rich.console import Console

from benchmarks.languages import figures, present
from quartermaster.evaluation import JudgedResult, Judgement, RankedList

RIGHT, WRONG = ("a", "b"), ("b", "c")  # the required tool is a


def result(sort: str, ids: tuple[str, ...], *, fits: float | None = 0.9) -> JudgedResult:
    tools = frozenset[str]() if sort == "none" else frozenset({"a"})
    judgement = Judgement("1", "?", tools, tools, "single" if tools else "none", slice=sort)
    return JudgedResult(judgement, {"fused": RankedList(ids, (1.0, 0.5))}, fits, (fits or 1) < 0.5, 1.0)


def test_the_default_is_compared_with_the_better_list_by_slice_and_romanised_requests_count_as_mixed() -> None:
    lists = {"default": (RIGHT, WRONG), "lexical": (WRONG, RIGHT), "dense": (WRONG, WRONG)}
    found = figures({k: [result("own", own), result("romanised", other)] for k, (own, other) in lists.items()})
    assert [(name, row["below"]) for name, row in found["slices"].items()] == [("all", 0), ("own", -1), ("mixed", 1)]
    assert found["slices"]["all"]["default"] == {"ndcg@10": 0.5, "hit@1": 0.5, "full@10": 0.5}


def test_refusals_are_shares_of_each_sort_and_unknown_without_a_probability() -> None:
    judged = [result("none", WRONG, fits=0.1), result("none", WRONG), result("own", RIGHT, fits=0.4)]
    uncalibrated = [result("own", RIGHT, fits=None), result("own", RIGHT), result("none", WRONG)]
    found = figures({"default": judged, "lexical": uncalibrated, "dense": judged})["refused"]
    assert found["default"] == {"none": 0.5, "answerable": 1.0}
    assert found["lexical"] == {"none": 0.0, "answerable": None}


def test_a_language_that_lacks_a_file_is_left_out_and_told(tmp_path: Path) -> None:
    (tmp_path / "zh").mkdir()
    for name in ("tools.jsonl", "requests.jsonl"):
        (tmp_path / "zh" / name).touch()
    with (console := Console()).capture() as said:
        assert present(["zh", "ja"], tmp_path, console) == [tmp_path / "zh"]
    assert said.get().startswith("ja is left out")
