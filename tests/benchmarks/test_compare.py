"""Comparing selectors of tools: what they are given, how they are asked, what is said of those without figures."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.compare import main as compare
from benchmarks.compare import spread, store
from benchmarks.request_catalogs import main as make_catalogs
from benchmarks.support import peer_tables
from benchmarks.support.measuring import DATA
from benchmarks.support.peer_figures import compared_rows, frontier, rounded, selector_rows
from benchmarks.support.peer_processes import Answered, NotMeasured, ask_selector, definition, kept_answer
from benchmarks.support.peer_tables import markdown, table
from benchmarks.support.peers import ask as asking
from benchmarks.support.peers import dense, registry
from benchmarks.support.peers.definitions import ids_by_name, parameter_text, schema, unique_names
from benchmarks.support.peers.embedder import Embedder
from router.evaluation import Judgement
from router.expansion import Expansion
from router.record import ToolRecord

TOOLS: list[dict[str, Any]] = [
    {"id": "a/x", "name": "send mail", "provider": "a/b", "description": "Send one mail."},
    {"id": "a/y", "name": "a/b_list", "provider": "a/b", "description": None},
    {"id": "c/x", "name": "list", "provider": None, "description": "List all."},
]

FIGURES: dict[str, Any] = {
    "versions": {},
    "wall_ms": [1.0],
    "cpu_ms": [1.0],
    "build_s": 1.5,
    "build_cpu_s": 1.0,
    "rss_mb": 200.0,
}
ANSWERED = Answered(**FIGURES, rankings=[])


def question(selector: str) -> dict[str, Any]:
    requests = ["send a mail", "list"]
    asked = {"tools": TOOLS, "requests": requests, "timed": requests[:1], "warm_up": requests[1:], "kept": "."}
    return {**asked, "selector": selector}


def executable(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["#!/bin/sh", "cat > /dev/null", *lines]) + "\n")
    path.chmod(0o755)
    return path


class Counting:
    """An embedder whose vectors count the letters a, i and l."""

    def documents(self, texts: Sequence[str]) -> Any:
        vectors = np.array([[text.lower().count(letter) for letter in "ail"] for text in texts], np.float32)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)

    def request(self, text: str) -> Any:
        return self.documents([text])[0]


def test_a_name_has_its_provider_in_front_unless_it_says_it_and_is_unique() -> None:
    assert unique_names([*TOOLS, TOOLS[2]]) == ["a_b_send_mail", "a_b_list", "list", "list__2"]
    assert ids_by_name(TOOLS) == {"a_b_send_mail": "a/x", "a_b_list": "a/y", "list": "c/x"}


def test_a_schema_gives_each_parameter_a_type_and_a_description() -> None:
    tool = {"parameters": {"properties": {"to": {"type": ["string", "null"]}, "note": "text"}}}
    properties = schema(tool)["properties"]
    assert properties == {"to": {"type": "string", "description": ""}, "note": {"type": "string", "description": ""}}
    assert parameter_text(tool).split() == ["to", "note"]


def test_peers_read_all_that_a_model_wrote_at_the_end_of_the_description() -> None:
    record = ToolRecord("a/x", "a", "x", "Send one mail.")
    expansion = Expansion("To write to people.", ("mail her",), ("post",), ("letter",), ("mail",), {"de": ("Brief",)})
    assert definition(record)["description"] == "Send one mail."
    assert "phrases" not in definition(record)
    expanded = definition(record, expansion)
    assert expanded["description"] == "Send one mail. mail her To write to people. post letter mail Brief"
    assert expanded["phrases"] == ["mail her", "To write to people."]


def test_a_peer_that_is_not_installed_is_named_with_the_package_that_it_lacks() -> None:
    peer = registry.Peer("made", "words", lambda tools, _: lambda request: [], ("no-such-package-here",))
    with pytest.raises(ImportError, match="no-such-package-here is not installed"):
        peer.versions()


def test_a_selector_answers_in_a_process_of_its_own_and_is_timed() -> None:
    row = json.loads(json.dumps(question("tantivy")))
    answered = ask_selector(row, Path(sys.executable), 600)
    assert answered.rankings == [["a/x", "a/y"], ["c/x", "a/y"]]  # "a" and "list" are words of the second
    assert len(answered.wall_ms) == len(answered.cpu_ms) == 1
    assert answered.build_s > 0
    assert 1 < answered.rss_mb < 200  # less than this process has, which started it
    assert list(answered.versions) == ["tantivy"]


def test_a_selector_without_figures_says_why(tmp_path: Path) -> None:
    def reason(*lines: str, limit_s: float = 60) -> str:
        with pytest.raises(NotMeasured) as raised:
            ask_selector(question("any"), executable(tmp_path / "python", *lines), limit_s)
        return str(raised.value)

    assert reason("""echo '{"missing": "no-such-package is not installed"}'""") == "no-such-package is not installed"
    failing = ("echo Traceback: >&2", "echo 'ValueError: too long' >&2", "exit 1")
    assert reason(*failing) == "failed: ValueError: too long"
    assert reason("exit 137") == "ended with status 137"
    assert reason("exec sleep 30", limit_s=0.2) == "did not end within 0.2 s"
    with pytest.raises(NotMeasured, match="nowhere cannot be run: No such file"):
        ask_selector(question("any"), tmp_path / "nowhere", 60)


def test_a_selector_may_only_name_tools_that_it_was_given(tmp_path: Path) -> None:
    for rankings, why in (
        ([["a/x"], ["invented"]], "names 1 tools that it was not given, such as 'invented'"),
        ([["a/x"]], "answered 1 of 2 requests"),
    ):
        row = json.dumps({**FIGURES, "rankings": rankings})
        with pytest.raises(NotMeasured, match=why):
            ask_selector(question("any"), executable(tmp_path / "python", f"cat <<'END'\n{row}\nEND"), 60)


def test_a_ranking_has_each_tool_once_and_ten_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [str(place // 2) for place in range(40)]
    peer = registry.Peer("made", "words", lambda tools, _: lambda request: many, ())
    monkeypatch.setattr(asking, "PEERS", {"made": peer})
    assert asking.measured(question("made"))["rankings"][0] == [str(place) for place in range(10)]


def test_kept_vectors_are_not_encoded_again_and_their_time_is_counted(tmp_path: Path) -> None:
    class Fake(Embedder):
        def __init__(self) -> None:
            self._kept, self._known, self.calls = tmp_path, {}, 0
            self.spared_s = self.spared_cpu_s = 0.0

        def _encode(self, texts: Sequence[str]) -> Any:
            self.calls += 1
            return np.ones((len(texts), 2), np.float32)

    first, second = Fake(), Fake()
    first.documents(["one", "two"])
    assert first.calls == 1 and first.spared_s == 0
    assert second.documents(["one", "two"]).shape == (2, 2)
    assert second.calls == 0 and second.spared_s > 0
    second.remember(["one", "two"])
    second.request("one")
    assert second.calls == 0
    second.request("three")
    assert second.calls == 1


def test_the_frontier_holds_what_nothing_quicker_beats() -> None:
    points = {
        "quick": (0.1, 0.5), "slow and worse": (9.0, 0.4), "as quick and worse": (0.1, 0.3), "better": (1.0, 0.6),
        "level": (2.0, 0.6), "twin": (1.0, 0.6), "best": (5.0, 0.9),
    }  # fmt: skip
    assert frontier(points) == ["quick", "better", "twin", "best"]
    assert frontier({}) == []


def test_requests_are_taken_from_all_over_a_set() -> None:
    assert spread(range(10), 3) == [0, 3, 6]
    assert spread(range(2), 3) == [0, 1]


def test_a_table_has_a_row_for_each_text_and_a_line_for_what_was_not_measured() -> None:
    judgements = [Judgement(str(i), "mail", frozenset({"a/x"}), frozenset({"a/x"}), "single") for i in range(8)]
    right, wrong = [["a/x", "c/x"]] * 8, [["c/x", "a/x"]] * 8
    ours = replace(ANSWERED, rankings=right, cpu_ms=[3.0])
    theirs = replace(ANSWERED, rankings=wrong, cpu_ms=[0.25], wall_ms=[12.0])
    found = {
        "set": "made",
        "tools": 3,
        "requests": 8,
        "machine": {"cpu": "Any", "cores": 2, "load_at_start": [0.5]},
        "versions": {"python": "3.11", "quartermaster": "1.0"},
        "own text": selector_rows(judgements, {"quartermaster": ours, "bm25s": theirs}),
        "with expansions": selector_rows(judgements, {"quartermaster": ours}),
        "not measured": {"own text": {"txtai": "txtai is not installed"}, "with expansions": {}},
    }
    lines = markdown(found).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    assert [row[0] for row in rows[1:]] == ["Quartermaster, with expansions*", "Quartermaster*", "bm25s*"]
    assert rows[3][1:] == "1.000 0.500 1.000 0.631 +36.9 12 12 0.25 0.25 1.5 1.0 200".split()
    assert "not measured: txtai, hybrid: txtai is not installed" in lines
    assert table(found).row_count == 3


def test_a_set_replaces_the_one_of_its_name_and_leaves_the_others(tmp_path: Path) -> None:
    file = tmp_path / "compare.json"
    for found in ({"set": "a", "tools": 1}, {"set": "b", "tools": 2}, {"set": "a", "tools": 3}):
        store(found, file)
    assert json.loads(file.read_text())["sets"] == [{"set": "a", "tools": 3}, {"set": "b", "tools": 2}]


def test_a_folder_is_compared_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours and an engine that the environment of the tests has, and one that no environment has."""
    monkeypatch.setitem(registry.PEERS, "gone", registry.Peer("gone", "words", lambda tools, _: str.split, ()))
    monkeypatch.setattr("benchmarks.compare.OURS", {name: peer_tables.OURS[name] for name in ["quartermaster-lexical"]})
    folder = tmp_path / "made"
    folder.mkdir()
    tools = [{**tool, "parameters": {}, "description": tool["description"] or ""} for tool in TOOLS]
    (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in tools))
    queries = [
        {"id": "1", "query": "send a mail", "required": ["a/x"], "acceptable": ["a/x"], "kind": "single"},
        {"id": "2", "query": "bake bread", "required": [], "acceptable": [], "kind": "none"},
    ]
    (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    file = tmp_path / "compare.json"
    asked = f"compare {folder} --python {sys.executable} --peer tantivy --peer gone --markdown --json {file}"
    monkeypatch.setattr("sys.argv", asked.split())
    monkeypatch.setattr("benchmarks.compare.on_one_thread", lambda: None)
    compare()
    found = json.loads(file.read_text())["sets"][0]
    assert found["requests"] == 1 and found["tools"] == 3
    assert {name: row["metrics"]["hit@1"] for name, row in found["own text"].items()} == {
        "quartermaster-lexical": 1.0,
        "tantivy": 1.0,
    }
    assert found["not measured"]["own text"] == {"gone": "failed: KeyError: 'gone'"}


def test_answers_are_kept_for_the_same_question_alone(tmp_path: Path) -> None:
    asked = []

    def ask() -> Answered:
        asked.append(1)
        return ANSWERED

    same, other = question("any"), {**question("any"), "requests": ["another"]}
    for given in (same, same, other):
        assert kept_answer(tmp_path / "answers", "any", given, ask) == ANSWERED
    assert len(asked) == 2


def test_a_vector_store_ranks_by_cosine() -> None:
    answer = dense.matrix(TOOLS, Counting())  # type: ignore[arg-type]
    assert answer("lllli")[0] == "c/x"
    assert answer("aiaia")[0] == "a/x"
    assert len(answer("a")) == 3


def test_figures_hold_the_first_router_against_each_other_one_and_correct_p_for_their_number() -> None:
    judgements = [Judgement(str(i), "mail", frozenset({"a"}), frozenset({"a"}), "single") for i in range(8)]
    right, wrong = [["a", "b"]] * 8, [["b", "a"]] * 8
    rows = compared_rows(judgements, {"ours": right, "second": wrong, "same": right})
    assert "difference" not in rows["ours"]
    assert rows["second"]["difference"]["hit@1"]["difference"] == 1
    assert rows["second"]["difference"]["hit@1"]["p"] == pytest.approx(2 * 2 / 2**8)
    assert rows["second"]["difference"]["full@10"]["difference"] == 0
    assert rows["same"]["difference"]["hit@1"]["p"] == 1


def test_stored_figures_have_six_decimals_and_keep_their_whole_numbers() -> None:
    assert rounded({"p": 0.12345678, "interval": (0.5, 0.98765432), "better": 3}) == {
        "p": 0.123457,
        "interval": [0.5, 0.987654],
        "better": 3,
    }


def test_a_catalog_is_made_from_the_requests_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The definitions are their vendor's: made-up ones stand in for them."""
    requests = DATA / "composio"
    ids = [json.loads(line)["id"] for line in (requests / "requests.jsonl").read_text("utf-8").splitlines()]
    definitions = tmp_path / "tools" / "composio"
    definitions.mkdir(parents=True)
    (definitions / "tools.jsonl").write_text("".join(json.dumps({"id": tool_id}) + "\n" for tool_id in ids))
    monkeypatch.setattr("sys.argv", ["", str(requests), str(tmp_path / "tools"), str(tmp_path / "out")])
    make_catalogs()
    assert [folder.name for folder in (tmp_path / "out").iterdir()] == ["composio"]
    queries = [json.loads(line) for line in (tmp_path / "out/composio/queries.jsonl").read_text("utf-8").splitlines()]
    assert len(queries) == 600
    assert {tool_id for query in queries for tool_id in query["required"]} <= set(ids)
