"""The ledger: the build's system of record, one DuckDB file in the workspace with one writer.

A model's answers are keyed by the hash of what it was shown, vectors by the hash of their text and the key of their
model, so a second build of an unchanged catalog asks nothing and embeds nothing. Nothing that was paid for is ever
deleted. Times are UTC.

`migrations`, `schema` and `comments` describe the tables; `runs`, `answers`, `vectors`, `batches` and `source_readings`
(what each source gave last) read and write them; `earlier` finds what models wrote before; `history` answers questions
over all of them, `outcomes` how runs ended. `lock` says who writes, `opening` opens the file, `backups` copies it,
`recovery` restores it, also `from_snapshots`; `connection` and `ledger` put these together. `maintenance`,
`compaction`, `checking` and `reading` are what an operator does with it.
"""

from pipeline.ledger.answers import LedgerEntry, LedgerQuestion
from pipeline.ledger.batches import Batch, BatchRequest
from pipeline.ledger.earlier import EarlierAnswer
from pipeline.ledger.ledger import Ledger
from pipeline.ledger.opening import CONNECTION, LEDGER_FILE, LedgerDamaged, explained
from pipeline.ledger.source_readings import KnownSource

__all__ = [
    "CONNECTION",
    "LEDGER_FILE",
    "Batch",
    "BatchRequest",
    "EarlierAnswer",
    "KnownSource",
    "Ledger",
    "LedgerDamaged",
    "LedgerEntry",
    "LedgerQuestion",
    "explained",
]
