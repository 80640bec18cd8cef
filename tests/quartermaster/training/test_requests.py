"""Pairs of requests and tools are made of catalogs and files, with whole providers held back."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from quartermaster.training import pairs_of_catalogs, read_requests
from router.snapshot.snapshot import Snapshot


def test_of_several_catalogs_whole_providers_are_held_back_and_unknown_tools_counted(snapshot: Path) -> None:
    requests = [("a request of nobody", ["nobody/nothing"]), ("refund, then tell them", ["stripe/create_refund"])]
    found = pairs_of_catalogs([(snapshot, None)], requests, seed=3)
    pairs = found.pairs
    assert found.unknown == 1 and "refund, then tell them" in pairs.requests
    held_back = {int(owner) for owner in pairs.owners[pairs.held_out]}
    assert held_back and not held_back & {int(owner) for owner in pairs.owners[pairs.taught]}
    assert len(found.providers) == 1


def test_a_request_is_held_back_for_all_of_its_tools(snapshot: Path) -> None:
    records = Snapshot.open(snapshot).records
    ids = [records.tool_id(ordinal) for ordinal in range(len(records))]
    requests = [(f"request {number}", [*pair]) for number, pair in enumerate(pairwise(ids))]
    pairs = pairs_of_catalogs([(snapshot, None)], requests, seed=3).pairs
    by_request = {(text, bool(out)) for text, out in zip(pairs.requests, pairs.held_out, strict=True)}
    assert len(by_request) == len({*pairs.requests}) and len({out for _, out in by_request}) == 2


def test_catalogs_keep_their_tools_apart(snapshot: Path) -> None:
    one = pairs_of_catalogs([(snapshot, None)], [], seed=3).pairs
    both = pairs_of_catalogs([(snapshot, None), (snapshot, None)], [], seed=3).pairs
    count = len(one.tools)
    assert [*both.tools] == [*one.tools] * 2 and both.group.tolist() == [0] * count + [1] * count
    assert both.owners.tolist() == [*one.owners.tolist(), *(one.owners + count).tolist()]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"id": "a", "phrases": ["x", " y "]}, [("x", ["a"]), ("y", ["a"])]),
        ({"tools": [{"id": "a"}, "b"], "request": "x"}, [("x", ["a", "b"])]),
        ({"required": ["a"], "query": "x", "indirect": ["z"]}, [("x", ["a"]), ("z", ["a"])]),
        (["x"], "a row is an object"),
        ({"tools": "a", "request": "x"}, "is not a list"),
        ({"request": "x"}, "it names no tool"),
        ({"id": "a", "request": ""}, "it has no request"),
    ],
)
def test_a_row_names_tools_and_requests_in_several_shapes(
    row: object, expected: list[tuple[str, list[str]]] | str, tmp_path: Path
) -> None:
    (tmp_path / "requests.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    read = read_requests(tmp_path / "requests.jsonl")
    if isinstance(expected, str):
        assert not read.requests and expected in str(read.rejected[0])
    else:
        assert read.requests == expected and not read.rejected
