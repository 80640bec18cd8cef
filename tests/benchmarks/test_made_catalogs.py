"""What the benchmarks are made of: catalogs, vectors, figures and processes that are what they say."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.large_catalogs import requests, tools
from benchmarks.support.measuring import compare, percentiles
from benchmarks.support.on_disk import Spilled
from benchmarks.support.processes import children, family, listens_at, peer_ports
from benchmarks.support.reference_vectors import ReferenceVectors
from pipeline.indexing.lexical import write_lexical
from router import DenseView
from router.tools.field_text import FieldDocuments

REAL: list[dict[str, object]] = [
    {
        "id": f"{provider}/{verb}_{noun}",
        "name": f"{verb}_{noun}",
        "provider": provider,
        "description": f"{verb.capitalize()} one {noun} of a customer, with its notes. Many {noun}s take a while.",
        "parameters": {"type": "object", "properties": {f"{noun}_id": {"type": "string"}, "limit": {}}},
    }
    for provider in ("billing", "helpdesk")
    for verb in ("get", "create", "archive")
    for noun in ("invoice", "ticket", "refund")
]


def test_a_larger_catalog_begins_with_the_smaller_one_and_no_id_comes_twice() -> None:
    large = list(tools(REAL, 60, seed=1))
    assert large[:20] == list(tools(REAL, 20, seed=1))
    assert len({made["id"] for made, _ in large}) == 60


def test_each_tool_has_eight_different_phrases_and_is_asked_for_in_other_words() -> None:
    phrases = {made["id"]: set(written["user_phrases"]) for made, written in tools(REAL, 40, seed=1)}
    assert [len(own) for own in phrases.values()] == [8] * 40
    for asked in requests(REAL, 40, seed=1, number=50):
        assert not set(asked["request"].split(", then ")[:1]) & phrases[asked["tool"]]


def test_documents_on_disk_are_indexed_as_those_in_memory(tmp_path: Path) -> None:
    documents = [FieldDocuments(f"a/{word}", word, f"Gets a {word}.", "", "", ()) for word in ("film", "song", "book")]
    with Spilled(tmp_path / "documents") as spilled:
        for document in documents:
            spilled.append(document)
        lengths = [write_lexical(of, tmp_path / name) for of, name in ((documents, "held"), (spilled, "read"))]
        assert lengths[0] == lengths[1] and spilled[1:] == documents[1:]


def test_every_vector_scores_as_the_view_says() -> None:
    """Tool 0 has phrases at cosines .6 and .8 with the request, tool 1 has none."""
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], np.float32)
    reference = ReferenceVectors(vectors[:2], vectors[2:], np.array([0, 2, 2]))
    request = np.array([[1, 0]], np.float32)
    scores = {view: reference.scores(request, view)[:, 0].tolist() for view in DenseView}
    assert scores[DenseView.DOCUMENT] == pytest.approx([1, 0])
    assert scores[DenseView.PHRASE] == pytest.approx([0.8, -0.2])  # lifted by what a phrase gives: .8 - 1
    assert scores[DenseView.MEAN] == pytest.approx([0.9, -0.1])


def test_percentiles_are_of_the_nearest_rank_and_in_milliseconds() -> None:
    assert percentiles([0.001 * n for n in range(1, 101)]) == {"mean": 50.5, "p50": 50, "p95": 95, "p99": 99}
    assert percentiles([0.002])["p99"] == 2
    with pytest.raises(ValueError, match="nothing was timed"):
        percentiles([])


def test_a_stored_run_is_compared_figure_by_figure() -> None:
    stored = {"default": {"all": {"p50": 4.0, "gone": 1}}, "note": "text"}
    assert compare(stored, {"default": {"all": {"p50": 3.0, "new": 2}}, "note": "text"}) == {"default.all.p50": 0.75}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_family_is_a_process_and_all_below_it() -> None:
    program = (
        "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'input()']).pid, flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None and parent.stdin is not None
        grandchild = int(parent.stdout.readline())
        assert parent.pid in children(os.getpid())
        assert family(parent.pid) == [parent.pid, grandchild]
        parent.stdin.write(b"\n\n")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_ports_of_clients_are_those_of_the_connections_that_a_process_holds() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert listens_at(os.getpid(), port) and not listens_at(os.getppid(), port)
        with socket.create_connection(("127.0.0.1", port)) as client, listening.accept()[0]:
            assert peer_ports(os.getpid(), port) == {client.getsockname()[1]}
            assert peer_ports(os.getppid(), port) == set()
        assert peer_ports(os.getpid(), port) == set()
