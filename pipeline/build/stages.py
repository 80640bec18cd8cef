"""Stage functions: picklable data in, picklable data out, no ledger, no progress. An `Execution` may run them anywhere.

The other stages of this kind live with their rooms: `records.catalog_records`, `vectors.encoding.embed_texts`,
`learning.tune`, `indexing.lexical.write_lexical`, `publish.served_files.write_served_files`,
`publish.snapshot_learning.calibrate_snapshot`, `router.tools.prerequisites.matching.find_prerequisites`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.phrase_checks.assessment import Assessment, assess
from pipeline.phrase_checks.comparison import ComparedTexts, ComparisonCache
from pipeline.phrase_checks.screen import Screen
from pipeline.phrase_checks.vectors import AssessedTool
from pipeline.settings import AssessmentSettings
from router.expansion import Expansion
from router.record import ToolRecord
from router.tools.field_text import FieldDocuments, project_record


def make_screen(records: Sequence[ToolRecord], languages: Sequence[str]) -> Screen:
    """Return the screen of a catalog, which has checked the texts of the records themselves."""
    return Screen(records, languages)


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
class ProjectedPart:
    """Records to project, from the place `first` of the catalog's on, and the expansions of those that have one."""

    first: int
    records: Sequence[ToolRecord]
    expansions: Mapping[str, Expansion]


def project_documents(part: ProjectedPart, languages: Sequence[str]) -> list[FieldDocuments]:
    """Return the field documents of a part's records, in their order."""
    return [project_record(record, part.expansions.get(record.tool_id), languages) for record in part.records]
