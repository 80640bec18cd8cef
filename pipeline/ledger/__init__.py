"""The ledger: the build's system of record, one DuckDB file in the workspace with one writer.

Answers are keyed by the hash of everything that produced them, vectors by the hash of their text and the key of their
model, so a second build of an unchanged catalog asks nothing and embeds nothing. Nothing that was paid for is ever
deleted. Times are UTC. `schema` and `comments` describe the tables, and
`connection` opens the file; `runs`, `answers`, `vectors` and `batches`
read and write them; `history` answers questions over all of them, `outcomes` how runs ended; `ledger` puts them
together.
"""

from pipeline.ledger.answers import LedgerEntry, LedgerQuestion
from pipeline.ledger.batches import Batch, BatchRequest
from pipeline.ledger.connection import CONNECTION, LEDGER_FILE
from pipeline.ledger.ledger import Ledger

__all__ = ["CONNECTION", "LEDGER_FILE", "Batch", "BatchRequest", "Ledger", "LedgerEntry", "LedgerQuestion"]
