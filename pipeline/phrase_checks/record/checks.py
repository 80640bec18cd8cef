"""The checks of one text against its tool's record, in the order in which they are tried."""

from collections.abc import Callable

from pipeline.enrichment.prompt import INSTRUCTIONS
from pipeline.phrase_checks.record import operations
from pipeline.phrase_checks.record.context import CheckedText, RecordContext
from pipeline.phrase_checks.record.links import advertised
from router.tools.text_overlap import record_texts, shares_terms
from router.tools.trust.characters import first_hidden_character, foreign_script
from router.tools.trust.steering_text import Finding, check_generated_phrase, first_shared_shingle, shingles

Check = Callable[[RecordContext, CheckedText], Finding | None]

# See docs/decisions/0032-record-checks.md.
_SHORT = ("synonyms", "related_concepts", "task_categories", "requires", "provides")
_LONGEST = {"when_to_use": 400, "user_phrases": 180, **dict.fromkeys(_SHORT, 80)}
_LONGEST_OF_ANOTHER = 180  # of a field that is not listed: a translation
_PROMPT = shingles(INSTRUCTIONS)


def hidden_characters(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find characters that a reader does not see, and words of mixed scripts."""
    return _finding("hidden", first_hidden_character(checked.text))


def length(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find texts that are far longer than any of their field, or a single ASCII character."""
    count = len(checked.text)
    too_long = count > _LONGEST.get(checked.field, _LONGEST_OF_ANOTHER)
    return Finding("length", f"{count} characters") if too_long or (count < 2 and checked.text.isascii()) else None


def steering(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find orders, promotion, ill report and markup. Ill report in the record's own words is the tool's subject."""
    finding = check_generated_phrase(checked.text)
    return None if finding and finding.check == "defamation" and checked.uses_only_terms else finding


def link(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find web and mail addresses that advertise."""
    return _finding("link", advertised(checked.text, record_texts(context.record)))


def prompt_echo(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find runs of words copied from the instructions in the prompt."""
    return _finding("echo", first_shared_shingle(checked.text, _PROMPT))


def script(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find texts in a script that the field's languages and the record do not use."""
    return _finding("script", foreign_script(checked.text, checked.allowed_scripts))


def other_tool(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find the identifier of another tool of the catalog."""
    return _foreign_finding("tool", context.names.other_tool(checked.text, context.record), checked)


def other_provider(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find the name of a provider that the record does not name."""
    return _foreign_finding("provider", context.names.other_provider(checked.text, context.providers), checked)


def unsupported_operation(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find phrases that ask to delete, cancel, pay or send, where the record speaks of no such thing."""
    if checked.field not in ("user_phrases", "when_to_use"):
        return None
    return _foreign_finding("operation", operations.unsupported(checked.text, context.operations), checked)


def steered(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find texts that share little with a record that tries to steer: they may say what it asked for."""
    if context.record_terms is None or shares_terms(checked.text, context.record_terms):
        return None
    return Finding("steered", "the record tries to steer, and the rest of it says little of this")


# Raise it with any change to what is dropped.
SCREEN_VERSION = 3

# The first finding counts.
CHECKS: tuple[Check, ...] = (
    hidden_characters,
    length,
    steering,
    link,
    prompt_echo,
    script,
    other_tool,
    other_provider,
    unsupported_operation,
    steered,
)


def first_finding(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Return the finding of the first check that has one; None where the text may be kept."""
    return next((finding for check in CHECKS if (finding := check(context, checked))), None)


def _foreign_finding(check: str, detail: str, checked: CheckedText) -> Finding | None:
    """Return the finding in a text that says more than what the record's own words say."""
    return Finding(check, detail) if detail and not checked.uses_only_terms else None


def _finding(check: str, detail: str) -> Finding | None:
    return Finding(check, detail) if detail else None
