"""Check phrases against the whole catalog, by vectors: does each bring its own tool back, and which tools collide?

`assessment` runs the checks: `misplaced` judges a tool's phrases together, `phrases` one at a time. `vectors` holds the
catalog and its scores, `assessed_tool` a tool's texts, `comparison_cache` the results of an earlier build.
The thresholds and how they were measured are in `AssessmentSettings`. Equal inputs give equal verdicts.
"""

from pipeline.phrase_checks.catalog.assessed_tool import AssessedTool
from pipeline.phrase_checks.catalog.assessment import ASSESSMENT_VERSION, Assessment, assess
from pipeline.phrase_checks.catalog.comparison_cache import ComparisonCache

__all__ = ["ASSESSMENT_VERSION", "AssessedTool", "Assessment", "ComparisonCache", "assess"]
