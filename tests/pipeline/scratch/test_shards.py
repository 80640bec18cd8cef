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


def test_documents_in_shards_are_read_as_the_list_that_was_written_here_and_in_a_worker(tmp_path: Path) -> None:
    stored = shards(tmp_path)
    assert len(stored) == 10 and list(stored) == DOCUMENTS
    assert [stored[place] for place in (0, 3, 4, 9, -1)] == [DOCUMENTS[place] for place in (0, 3, 4, 9, -1)]
    assert (stored[3:9], stored[8:99]) == (DOCUMENTS[3:9], DOCUMENTS[8:])
    pickled = pickle.dumps(stored)
    assert len(pickled) < 1_000  # paths
    assert list(pickle.loads(pickled)) == list(open_documents(stored.paths, 10, 4)) == DOCUMENTS
    assert list(shards(tmp_path / "none", 0)) == []


def test_a_shard_that_is_full_is_the_same_in_a_larger_catalog(tmp_path: Path) -> None:
    small, large = shards(tmp_path / "small", 4), shards(tmp_path / "large")
    assert [first for first, _ in large.shards()] == [0, 4, 8]
    assert small.paths[0].read_bytes() == large.paths[0].read_bytes()
