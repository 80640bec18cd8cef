"""The ledger: the build's system of record, one DuckDB file in the workspace with one writer.

A model's answers are keyed by the hash of what it was shown, vectors by the hash of their text and the key of their
model, so a second build of an unchanged catalog asks nothing and embeds nothing. Nothing that was paid for is ever
deleted. Times are UTC.

`ledger` opens the file, and has a part for each group of tables: `answers`, `batches`, `history`, `quarantine`,
`refusals`, `source_readings`, `vectors`. `schema.sql` makes the tables, views and comments. `database` opens and copies
files, `lock` waits for the process that has them, `backups` keeps and restores copies. `commands` and `discarding` are
what an operator does.
"""

from pipeline.ledger.answers import EarlierAnswer, storable
from pipeline.ledger.batches import Batch, BatchRequest
from pipeline.ledger.database import CONNECTION, LedgerDamaged, explained
from pipeline.ledger.ledger import Ledger
from pipeline.ledger.lock import LEDGER_FILE
from pipeline.ledger.quarantine import QuarantinedTool
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
    "QuarantinedTool",
    "explained",
    "storable",
]
