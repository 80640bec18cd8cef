"""Requests of several shapes are read, and whole providers are held back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.learning.encoder.several_catalogs import pairs_of_catalogs, read_requests


def test_rows_of_every_shape_are_read(write_lines: Callable[[str, list[Any]], Path]) -> None:
    file = write_lines(
        "requests.jsonl",
        [
            {"catalog": "x", "id": "a/b", "phrases": ["one", "two"], "requests": ["three"]},
            {"id": "a/b", "indirect": ["four"], "long": " five "},
            {"tools": [{"catalog": "x", "id": "a/b"}, {"id": "a/c"}], "request": "six"},
            {"query": "seven", "required": ["a/c"], "kind": "single"},
        ],
    )
    read = read_requests(file)
    assert not read.rejected
    texts = [text for text, _ in read.requests]
    assert texts == ["one", "two", "three", "five", "four", "six", "seven"]
    assert dict(read.requests)["six"] == ["a/b", "a/c"]


def test_rows_without_a_tool_or_a_request_are_rejected_with_their_line(
    write_lines: Callable[[str, list[Any]], Path],
) -> None:
    rows = [
        ["no object"],
        {"request": "of no tool"},
        {"id": "a/b"},
        {"id": "a/b", "request": 7},
        {"tools": "a", "long": "x"},
    ]
    read = read_requests(write_lines("requests.jsonl", rows))
    assert not read.requests and len(read.rejected) == 5


def test_whole_providers_are_held_back_and_unknown_tools_counted(snapshot: Path) -> None:
    requests = [("a request of nobody", ["nobody/nothing"]), ("refund, then tell them", ["stripe/create_refund"])]
    found = pairs_of_catalogs([(snapshot, None)], requests, seed=3)
    pairs = found.pairs
    assert found.unknown == 1 and "refund, then tell them" in pairs.requests
    assert pairs.held_out.any() and not pairs.held_out.all()
    held_back = {int(owner) for owner in pairs.owners[pairs.held_out]}
    assert not held_back & {int(owner) for owner in pairs.owners[pairs.taught]}
    assert len(found.providers) == 1
