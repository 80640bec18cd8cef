"""Decide whether a step of a request is only implied: "… and save it", "now", "near me"."""

from quartermaster.evaluation.causes.missed_step import MissedStep


def is_implied(missed: MissedStep) -> bool:
    """Return whether a request takes other tools too, and has no word of this one's texts."""
    return len(missed.judgement.steps) > 1 and not missed.shared_terms
