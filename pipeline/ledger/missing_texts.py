"""The texts of a build that have no vector yet, each once, sorted by hash: a queue that need not fit into memory."""

from collections.abc import Mapping

import pyarrow as pa

from pipeline.ledger.connection import LedgerFile


class MissingTextQueue(LedgerFile):
    """Gathers texts in a temporary table, which lies on disk where memory is short, and gives them out in order."""

    def open_missing_texts(self) -> None:
        """Begin with an empty queue."""
        self._connection.execute("CREATE OR REPLACE TEMP TABLE gathered_texts (text_hash VARCHAR, text VARCHAR)")

    def add_missing_texts(self, texts: Mapping[str, str]) -> None:
        """Add texts, by hash; one that is there already counts once."""
        self._insert(
            "gathered_texts",
            {"text_hash": pa.array(list(texts), pa.string()), "text": pa.array(list(texts.values()), pa.string())},
        )

    def sort_missing_texts(self) -> int:
        """Sort the queue, and return how many texts it has. None is added after that."""
        self._connection.execute(
            "CREATE OR REPLACE TEMP TABLE missing_texts AS SELECT (row_number() OVER ()) - 1 AS place, text FROM ("
            "SELECT text_hash, any_value(text) AS text FROM gathered_texts GROUP BY text_hash ORDER BY text_hash)"
        )
        self._connection.execute("DROP TABLE gathered_texts")
        ((count,),) = self._connection.execute("SELECT count(*) FROM missing_texts").fetchall()
        return int(count)

    def missing_texts(self, first: int, count: int) -> list[str]:
        """Return the next `count` texts of the sorted queue from place `first` on, fewer at its end."""
        rows = self._connection.execute(
            "SELECT text FROM missing_texts WHERE place >= ? AND place < ? ORDER BY place", [first, first + count]
        ).fetchall()
        return [text for (text,) in rows]

    def close_missing_texts(self) -> None:
        """Let go of the sorted queue."""
        self._connection.execute("DROP TABLE IF EXISTS missing_texts")
