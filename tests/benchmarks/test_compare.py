"""Comparing selectors of tools: what they are given, how they are asked, what is said of those without figures."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.compare import main as compare
from benchmarks.support import peer_tables
from benchmarks.support.measuring import about
from benchmarks.support.peer_figures import compared_rows, frontier, selector_rows
from benchmarks.support.peer_processes import Answered, NotMeasured, ask_selector, definition
from benchmarks.support.peers import ask as asking
from benchmarks.support.peers import registry
from benchmarks.support.peers.definitions import ids_by_name, unique_names
from quartermaster.evaluation import Judgement
from router.expansion import Expansion
from router.record import ToolRecord
from tests.support.rows import write_rows

TOOLS: list[dict[str, Any]] = [
    {"id": "a/x", "name": "send mail", "provider": "a/b", "description": "Send one mail."},
    {"id": "a/y", "name": "a/b_list", "provider": "a/b", "description": None},
    {"id": "c/x", "name": "list", "provider": None, "description": "List all."},
]
REQUESTS = ["send a mail", "list"]
QUESTION: dict[str, Any] = {"tools": TOOLS, "requests": REQUESTS, "timed": REQUESTS[:1], "warm_up": REQUESTS[1:]}
QUESTION |= {"kept": ".", "selector": "made"}
FIGURES = {"versions": {}, "wall_ms": [1.0], "cpu_ms": [1.0], "build_s": 1.5, "build_cpu_s": 1.0, "rss_mb": 200.0}


def answering(*rankings: list[str]) -> str:
    """Return a line of shell that answers as a selector does."""
    return f"cat <<'END'\n{json.dumps({**FIGURES, 'rankings': rankings})}\nEND"


def test_a_name_has_its_provider_in_front_unless_it_says_it_and_is_unique() -> None:
    assert unique_names([*TOOLS, TOOLS[2]]) == ["a_b_send_mail", "a_b_list", "list", "list__2"]
    assert ids_by_name(TOOLS) == {"a_b_send_mail": "a/x", "a_b_list": "a/y", "list": "c/x"}


def test_peers_read_all_that_a_model_wrote_at_the_end_of_the_description() -> None:
    record = ToolRecord("a/x", "a", "x", "Send one mail.")
    expansion = Expansion("To write to people.", ("mail her",), ("post",), ("letter",), ("mail",), {"de": ("Brief",)})
    assert definition(record)["description"] == "Send one mail." and "phrases" not in definition(record)
    expanded = definition(record, expansion)
    assert expanded["description"] == "Send one mail. mail her To write to people. post letter mail Brief"
    assert expanded["phrases"] == ["mail her", "To write to people."]


@pytest.mark.parametrize(
    ("script", "limit_s", "reason"),
    [
        ("""echo '{"missing": "no-such-package is not installed"}'""", 60, "no-such-package is not installed"),
        ("echo 'ValueError: too long' >&2; exit 1", 60, "failed: ValueError: too long"),
        ("exit 137", 60, "ended with status 137"),
        ("exec sleep 30", 0.2, "did not end within 0.2 s"),
        (answering(["a/x"], ["invented"]), 60, "names 1 tools that it was not given, such as 'invented'"),
        (answering(["a/x"]), 60, "answered 1 of 2 requests"),
    ],
)
def test_a_selector_without_figures_says_why(script: str, limit_s: float, reason: str, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
    program.chmod(0o755)
    with pytest.raises(NotMeasured, match=reason):
        ask_selector(QUESTION, program, limit_s)


def test_a_ranking_has_each_tool_once_and_ten_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [str(place // 2) for place in range(40)]
    peer = registry.Peer("made", "words", lambda tools, _: lambda request: many, ())
    monkeypatch.setattr(asking, "PEERS", {"made": peer})
    assert asking.measured(QUESTION)["rankings"][0] == [str(place) for place in range(10)]


def test_callers_at_once_ask_from_other_requests_on_and_waiting_counts() -> None:
    asked: list[str] = []

    def answer(request: str) -> list[str]:
        asked.append(request)
        time.sleep(0.01)
        return []

    found = asking.together(answer, REQUESTS, callers=2, seconds=0.1)
    assert set(asked[:2]) == set(REQUESTS), "both begin at another request"
    assert len(found["wall_ms"]) == len(asked) and min(found["wall_ms"]) >= 10
    assert 0 < found["per_s"] <= 2 / 0.01


def test_callers_at_once_have_a_table_of_their_own() -> None:
    at_once = {"1": {"per_s": 50.0, "wall_ms": [20.0]}, "4": {"per_s": 80.0, "wall_ms": [40.0, 60.0]}}
    judgement = Judgement("1", "mail", frozenset({"a"}), frozenset({"a"}), "single")
    figures: dict[str, Any] = {**FIGURES, "rankings": [["a"]], "callers": at_once}
    rows = selector_rows([judgement], {"bm25s": Answered(**figures)})
    found = {"set": "made", "tools": 1, "requests": 1, "own text": rows, "not measured": {}, **about()}
    first, second = peer_tables.tables(found)
    assert (first.row_count, second.row_count) == (1, 1)
    assert "| bm25s | 1.000 | 50, 20, 20 | 80, 40, 60 |" in peer_tables.markdown(found)


def test_the_frontier_holds_what_nothing_quicker_beats() -> None:
    points = {
        "quick": (0.1, 0.5), "slow and worse": (9.0, 0.4), "as quick and worse": (0.1, 0.3), "better": (1.0, 0.6),
        "level": (2.0, 0.6), "twin": (1.0, 0.6), "best": (5.0, 0.9),
    }  # fmt: skip
    assert frontier(points) == ["quick", "better", "twin", "best"]


@pytest.mark.nightly
def test_a_folder_is_compared_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours and an engine that the environment of the tests has, and one that no environment has."""
    monkeypatch.setitem(registry.PEERS, "gone", registry.Peer("gone", "words", lambda tools, _: str.split, ()))
    monkeypatch.setattr("benchmarks.compare.OURS", {name: peer_tables.OURS[name] for name in ["quartermaster-lexical"]})
    folder, file = tmp_path / "made", tmp_path / "compare.json"
    folder.mkdir()
    described = [{**tool, "parameters": {}, "description": tool["description"] or ""} for tool in TOOLS]
    write_rows(folder / "tools.jsonl", described)
    queries = [
        {"id": "1", "query": "send a mail", "required": ["a/x"], "acceptable": ["a/x"], "kind": "single"},
        {"id": "2", "query": "bake bread", "required": [], "acceptable": [], "kind": "none"},
    ]
    write_rows(folder / "queries.jsonl", queries)
    asked = f"compare {folder} --python {sys.executable} --peer tantivy --peer gone --markdown --json {file}"
    monkeypatch.setattr("sys.argv", asked.split())
    monkeypatch.setattr("benchmarks.compare.on_one_thread", lambda: None)
    compare()
    found = json.loads(file.read_text())["sets"][0]
    assert found["requests"] == 1 and found["tools"] == 3
    best = {name: row["metrics"]["hit@1"] for name, row in found["own text"].items()}
    assert best == {"quartermaster-lexical": 1.0, "tantivy": 1.0}
    assert found["not measured"]["own text"] == {"gone": "failed: KeyError: 'gone'"}


def test_figures_hold_the_first_router_against_each_other_one_and_correct_p_for_their_number() -> None:
    judgements = [Judgement(str(i), "mail", frozenset({"a"}), frozenset({"a"}), "single") for i in range(8)]
    right, wrong = [["a", "b"]] * 8, [["b", "a"]] * 8
    rows = compared_rows(judgements, {"ours": right, "second": wrong, "same": right})
    assert "difference" not in rows["ours"]
    assert rows["second"]["difference"]["hit@1"]["difference"] == 1
    assert rows["second"]["difference"]["hit@1"]["p"] == pytest.approx(2 * 2 / 2**8)
    assert rows["same"]["difference"]["hit@1"]["p"] == 1
