"""Comparing other routers: what they are given, how their rankings are kept, what is said of those that are missing."""

import io
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.request_catalogs import main as make_catalogs
from benchmarks.support.measuring import DATA
from benchmarks.support.peer_figures import compared_rows, rounded, table
from benchmarks.support.peer_rankings import Ranked, definition, rank
from benchmarks.support.peers import dense, registry
from benchmarks.support.peers import rank as ranking
from benchmarks.support.peers.definitions import parameter_text, schema, unique_names
from router.evaluation import Judgement
from router.expansion import Expansion
from router.record import ToolRecord

TOOLS: list[dict[str, Any]] = [
    {"id": "a/x", "name": "send mail", "provider": "a/b", "description": "Send one mail."},
    {"id": "a/y", "name": "a/b_list", "provider": "a/b", "description": None},
    {"id": "c/x", "name": "list", "provider": None, "description": "List all."},
]


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
    peer = registry.Peer(lambda tools, _: lambda request: [], ("no-such-package-here",))
    with pytest.raises(ImportError, match="no-such-package-here is not installed"):
        peer.versions()


def test_each_peer_is_ranked_or_its_absence_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peers = {
        "backwards": registry.Peer(lambda tools, _: lambda request: [tool["id"] for tool in reversed(tools)], ()),
        "gone": registry.Peer(lambda tools, _: lambda request: [], ("no-such-package-here",)),
    }
    monkeypatch.setattr(ranking, "PEERS", peers)
    asked = {"tools": TOOLS, "requests": ["mail"], "peers": ["backwards", "gone"]}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(asked)))
    monkeypatch.setattr("logging.disable", lambda level: None)
    ranking.main()
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        {"peer": "backwards", "versions": {}, "rankings": [["c/x", "a/y", "a/x"]]},
        {"peer": "gone", "missing": "no-such-package-here is not installed"},
    ]


def test_rankings_are_kept_and_only_missing_ones_are_made(tmp_path: Path) -> None:
    line = json.dumps({"peer": "first", "versions": {"first": "1.0"}, "rankings": [["a/x"]]})
    ranked = Ranked([["a/x"]], {"first": "1.0"})
    both = executable(tmp_path / "both", f"echo '{line}'", """echo '{"peer": "gone", "missing": "no package"}'""")
    assert rank(TOOLS, ["mail"], ["first", "gone"], both, tmp_path) == ({"first": ranked}, {"gone": "no package"})
    failing = executable(tmp_path / "failing", "exit 3")
    assert rank(TOOLS, ["mail"], ["first"], failing, tmp_path) == ({"first": ranked}, {})
    with pytest.raises(subprocess.CalledProcessError):
        rank(TOOLS, ["another request"], ["first"], failing, tmp_path)


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
    shown = table({"set": "made", "tools": 2, "requests": 8, "own text": rows}, "own text")
    assert shown.row_count == 3


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
