"""examples/evaluate_requests.py: judged requests written, measured and compared."""

import json
from pathlib import Path

from tests.examples.conftest import Run


def test_requests_are_written_measured_and_compared(run: Run, folder: Path) -> None:
    written, figures, worst, difference = run("evaluate_requests.py").split("\n\n")
    assert written == "8 requests written to judgements.jsonl"
    lines = (folder / "judgements.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in lines].count("multi") == 1
    assert figures.splitlines()[0] == "recipe default, 8 requests, 8 tools"
    values = {line.split()[0]: float(line.split()[1]) for line in figures.splitlines()[1:]}
    assert values.keys() == {"Success@10", "Success@1", "MRR@10", "FullRecall@10", "MultiToolRecall@10", "nDCG@10"}
    assert 0.4 < values["nDCG@10"] < 1
    assert "Jo left the company" in worst
    assert "needed   disable_user: in no list: it has no word in common with the request" in worst
    assert difference.startswith("default less lexical")
    assert difference.count("p = ") == 6


def test_a_built_catalog_is_measured_on_requests_of_its_own(run: Run, folder: Path, snapshot: Path) -> None:
    row = {"id": "1", "query": "undo a payment", "kind": "single", "required": ["stripe/create_refund"]}
    other = {**row, "id": "2", "required": ["stripe/refund"], "acceptable": ["stripe/refund"]}
    judged = [{**row, "acceptable": row["required"]}, other]
    (folder / "mine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in judged), encoding="utf-8")
    printed = run("evaluate_requests.py", str(snapshot), "mine.jsonl")
    assert printed.startswith("the catalog lacks these tools of the judgements: stripe/refund\n")
    assert "2 requests, 8 tools" in printed
