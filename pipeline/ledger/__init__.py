"""The ledger: the build's system of record, one DuckDB file in the workspace with one writer.

A model's answers are keyed by the hash of what it was shown, vectors by the hash of their text and the key of their
model, so a second build of an unchanged catalog asks nothing and embeds nothing. Nothing that was paid for is ever
deleted. Times are UTC. `schema` and `comments` describe the tables, and
`connection` opens the file; `runs`, `answers`, `vectors`, `batches` and `source_readings` (what each source gave last)
read and write them; `keys` finds questions that were paid for, `earlier` what models wrote before; `history` answers
questions over all of them; `ledger` puts them together.
"""

from pipeline.ledger.answers import LedgerEntry, LedgerQuestion
from pipeline.ledger.batches import Batch, BatchRequest
from pipeline.ledger.connection import CONNECTION, LEDGER_FILE
from pipeline.ledger.earlier import EarlierAnswer
from pipeline.ledger.ledger import Ledger
from pipeline.ledger.source_readings import KnownSource

__all__ = [
    "CONNECTION",
    "LEDGER_FILE",
    "Batch",
    "BatchRequest",
    "EarlierAnswer",
    "KnownSource",
    "Ledger",
    "LedgerEntry",
    "LedgerQuestion",
]
