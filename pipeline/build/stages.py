"""Stage functions: picklable data in, picklable data out, no ledger, no progress. An `Execution` may run them anywhere.

The other stages of this kind live with their rooms: `records.catalog_records`, `vectors.encoding.embed_texts`,
`learning.tune`, `indexing.lexical.index_shard`, `publish.served_files.write_served_files`,
`publish.snapshot_learning.calibrate_snapshot`, `router.tools.prerequisites.matching.find_prerequisites`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from pipeline.enrichment.verdict import TextVerdict
from pipeline.phrase_checks.catalog import AssessedTool, Assessment, ComparisonCache, assess
from pipeline.phrase_checks.catalog.comparison_cache import ComparedTexts
from pipeline.phrase_checks.record import Screen
from pipeline.scratch import write_document_shard
from pipeline.settings import AssessmentSettings
from router.expansion import Expansion
from router.record import ToolRecord
from router.tools.field_text import project_record


def make_screen(records: Sequence[ToolRecord], languages: Sequence[str]) -> Screen:
    """Return the screen of a catalog, which has checked the texts of the records themselves."""
    return Screen(records, languages)


def screen_answers(
    answers: Sequence[tuple[ToolRecord, Expansion]], screen: Screen
) -> list[tuple[Expansion, tuple[TextVerdict, ...]]]:
    """Return for each answer what passes the screen, and a verdict for each text that does not."""
    return [screen(record, answer) for record, answer in answers]


def assess_phrases(
    subjects: Sequence[AssessedTool],
    records: NDArray[np.float32],
    phrases: NDArray[np.float32],
    settings: AssessmentSettings,
    compared: Mapping[str, ComparedTexts],
) -> tuple[Assessment, Mapping[str, ComparedTexts]]:
    """Judge phrases against the whole catalog as `assess` does.

    `compared` is what an earlier build compared; returned beside the assessment is what this one did.
    """
    cache = ComparisonCache(compared)
    assessment = assess(subjects, records, phrases, settings, cache=cache)
    return assessment, cache.current


@dataclass(frozen=True, slots=True)
class ProjectedShard:
    """Records to project, those with an expansion also by tool id, and the file that their documents go into."""

    records: Sequence[ToolRecord]
    expansions: Mapping[str, Expansion]
    path: Path


def project_documents(shard: ProjectedShard, languages: Sequence[str]) -> None:
    """Write the field documents of a shard's records into its file, in their order."""
    documents = [project_record(record, shard.expansions.get(record.tool_id), languages) for record in shard.records]
    hidden = shard.path.with_suffix(f".{uuid4().hex}")  # a worker that seemed lost may be writing the same shard
    write_document_shard(hidden, documents)
    hidden.replace(shard.path)
