"""Hold what was written for a tool against what its record says of itself, to find text that steered the model.

A phrase in other words than the record's is worth most, and looks like a poisoned one. What tells them apart is where
the poison came from: a remark in the record that is about something else than the tool. `subject` divides a record
into its subject and its remarks, `measures` measures support by the subject, finds remarks in no language and phrases
that repeat a remark, and `steering` decides. See
docs/decisions/phrase-checks.md.
"""

from pipeline.phrase_checks.record_steering.steering import SteeringFindings, find_steering
from pipeline.phrase_checks.record_steering.subject import Remark, WrittenTool, reduced, schema_texts

__all__ = ["Remark", "SteeringFindings", "WrittenTool", "find_steering", "reduced", "schema_texts"]
