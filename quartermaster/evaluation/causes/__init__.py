"""Say why required tools were missed: one cause for each missed step, by fixed rules in a fixed order.

`cause` names the causes and the ways out. `tool_texts` reads what a step's tools say, `missed_step` holds what is known
of one missed step, `rules` decides (with `prerequisites`, `implicit_needs` and `cut_text`), and `summary` counts.
See docs/decisions/evaluation.md.
"""

from quartermaster.evaluation.causes.cause import Cause
from quartermaster.evaluation.causes.summary import cause_changes, causes

__all__ = ["Cause", "cause_changes", "causes"]
