"""Documents in shards are the documents that were written, in the driver and in a worker."""

import pickle
from pathlib import Path

from pipeline.scratch import Shards, open_documents, write_documents
from router.tools.field_text import FieldDocuments


def document(number: int) -> FieldDocuments:
    translations = {"de": (f"Rechnung {number}", "zahlen"), "fr": ()} if number % 2 else {}
    phrases = tuple(f"phrase {place}\n of {number} — €" for place in range(number % 3))
    return FieldDocuments(f"shop/t{number}", "name", "", "expansion", f"dense {number}", phrases, translations)


DOCUMENTS = [document(number) for number in range(10)]


def shards(folder: Path, count: int = 10) -> Shards[FieldDocuments]:
    return write_documents(DOCUMENTS[:count], folder / "documents", size=4)


def test_documents_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert list(shards(tmp_path)) == DOCUMENTS


def test_a_place_and_a_slice_are_those_of_a_list(tmp_path: Path) -> None:
    stored = shards(tmp_path)
    assert len(stored) == 10
    assert [stored[place] for place in (0, 3, 4, 9, -1)] == [DOCUMENTS[place] for place in (0, 3, 4, 9, -1)]
    assert stored[3:9] == DOCUMENTS[3:9]
    assert stored[8:99] == DOCUMENTS[8:]


def test_a_shard_that_is_full_is_the_same_in_a_larger_catalog(tmp_path: Path) -> None:
    small, large = shards(tmp_path / "small", 4), shards(tmp_path / "large")
    assert [first for first, _ in large.shards()] == [0, 4, 8]
    assert small.paths[0].read_bytes() == large.paths[0].read_bytes()


def test_no_document_is_no_shard(tmp_path: Path) -> None:
    assert list(shards(tmp_path, 0)) == []


def test_a_worker_gets_paths_and_reads_the_same(tmp_path: Path) -> None:
    stored = shards(tmp_path)
    pickled = pickle.dumps(stored)
    assert len(pickled) < 1_000
    assert list(pickle.loads(pickled)) == DOCUMENTS
    assert list(open_documents(stored.paths, 10, 4)) == DOCUMENTS
