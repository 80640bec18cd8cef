"""Examples over tools in memory, without a build: the gate runs these."""

import json
from pathlib import Path

from tests.examples.conftest import Run


def test_the_function_that_fits_is_called_with_typed_arguments_and_wrong_ones_are_refused(run: Run) -> None:
    printed = run("functions_in_memory.py")
    assert "1. refund_order, rank by signal: {" in printed
    assert printed.splitlines()[-1] == "  refunded A-17: 12.5, because it was broken"
    printed = run("functions_in_memory.py", "is my parcel on its way", '{"order": "A-17"}')
    assert printed.splitlines()[-1] == "  refused: track_parcel: the argument 'since' is missing"


def test_the_stable_selection_is_cached_and_costs_less(run: Run) -> None:
    lines = run("stable_prefix.py").splitlines()
    turns = [line.partition("  new: ")[0].split()[-4:] for line in lines[1:-1]]
    assert len(turns) == 6
    tokens = [int(turn[2]) for turn in turns]
    cached = [int(turn[3]) for turn in turns]
    assert cached[0] == 0 and cached[1:] == tokens[:-1]  # each turn begins with all of the one before
    afresh, stable = map(int, lines[-1].split()[-2:])
    assert stable < 0.6 * afresh


def test_requests_are_written_measured_and_compared(run: Run, folder: Path) -> None:
    written, figures, worst, difference = run("evaluate_requests.py").split("\n\n")
    assert written == "8 requests written to judgements.jsonl"
    lines = (folder / "judgements.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in lines].count("multi") == 1
    assert figures.splitlines()[0] == "recipe default, 8 requests, 8 tools"
    values = {line.split()[0]: float(line.split()[1]) for line in figures.splitlines()[1:]}
    assert 0.4 < values["nDCG@10"] < 1
    assert "needed   disable_user: in no list: it has no word in common with the request" in worst
    assert difference.startswith("default less lexical")
    assert difference.count("p = ") == 6
