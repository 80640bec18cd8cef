"""The open ledger: all of its tables behind one connection."""

from pipeline.ledger.answers import AnswerTables
from pipeline.ledger.batches import BatchTables
from pipeline.ledger.earlier import EarlierQueries
from pipeline.ledger.history import HistoryQueries
from pipeline.ledger.missing_texts import MissingTextQueue
from pipeline.ledger.outcomes import OutcomeQueries
from pipeline.ledger.quarantine import QuarantineTables
from pipeline.ledger.source_readings import SourceReadingTables
from pipeline.ledger.vectors import VectorTables


class Ledger(
    AnswerTables,
    VectorTables,
    MissingTextQueue,
    BatchTables,
    SourceReadingTables,
    QuarantineTables,
    HistoryQueries,
    EarlierQueries,
    OutcomeQueries,
):
    """The open ledger. Each of its methods that writes commits before it returns."""
