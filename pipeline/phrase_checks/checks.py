"""The checks of one text against its tool's record, in the order in which they are tried."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.enrichment.prompt import INSTRUCTIONS
from pipeline.phrase_checks import operations
from pipeline.phrase_checks.names import Name, Names
from router.record import ToolRecord
from router.tools.text_overlap import identifying_terms, record_texts, shares_terms, term_set, uses_only_terms
from router.tools.trust.characters import count_scripts, first_hidden_character, foreign_script
from router.tools.trust.sanitization import sanitize
from router.tools.trust.steering_text import Finding, check_generated_phrase, first_shared_shingle, shingles

# Raise it with any change to what is dropped.
SCREEN_VERSION = 6
# See docs/decisions/phrase-checks.md.
_SHORT = ("synonyms", "related_concepts", "task_categories", "requires", "provides")
_LONGEST = {"when_to_use": 400, "user_phrases": 180, **dict.fromkeys(_SHORT, 80)}
_LONGEST_OF_ANOTHER = 180  # of a field that is not listed: a translation
_PROMPT = shingles(INSTRUCTIONS)
_ADDRESS = re.compile(
    r"\b(?P<scheme>[a-z][a-z0-9+.-]{1,9}://|www\.)(?P<host>[^\s/?#\"'<>)]+)|\b(?:javascript|data|mailto):\S+"
    r"|(?<![\w.+-])[\w.+-]++@(?P<mail>[\w-]+(?:\.[\w-]+)+)",
    re.IGNORECASE,
)
# Reserved for examples: they lead nowhere (RFC 2606).
_EXAMPLE = re.compile(r"\A(?:(?:.*\.)?example\.(?:com|org|net)|localhost)(?::\d+)?", re.IGNORECASE)
_TAKES_ADDRESSES = re.compile(
    r"\b(?:url|uri|link|href|web ?site|site|web ?page|page|domain|endpoint|web ?hook|repo|repository|browser|crawl"
    r"|scrape|address)(?:s|es)?\b",
    re.IGNORECASE,
)
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|_")


class CheckedText(NamedTuple):
    """A text of an expansion's field. It may be written in `allowed_scripts`, on top of those for all."""

    field: str
    text: str
    allowed_scripts: frozenset[str]


@dataclass(frozen=True, slots=True)
class RecordContext:
    """A record, and what it lets be said of its tool.

    `providers` and `operations` may be named, `scripts` written in. `record_terms` are given only for a record that
    tries to steer: a text must then share some of them. `identifying_terms` are of the name and the first sentence.
    """

    record: ToolRecord
    names: Names
    providers: frozenset[Name]
    operations: frozenset[str]
    scripts: frozenset[str]
    record_terms: frozenset[str] | None
    identifying_terms: frozenset[str]

    @classmethod
    def of(cls, record: ToolRecord, names: Names) -> "RecordContext":
        """Return the context of a record in the catalog that `names` are of."""
        clean, left_out = sanitize(record)
        return cls(
            record,
            names,
            names.supported(clean),
            operations.supported(clean),
            frozenset(count_scripts(f"{clean.name} {clean.description}")),
            term_set(" ".join(record_texts(clean))) if left_out else None,
            identifying_terms(clean),
        )

    def says_nothing_new(self, text: str) -> bool:
        """Return whether a text says only what the record's own words say. Few texts must know: it takes a while."""
        return uses_only_terms(text, self.identifying_terms)

    def first_finding(self, field: str, text: str, allowed_scripts: frozenset[str]) -> Finding | None:
        """Return the finding of the first check that has one; None where the text may be kept."""
        checked = CheckedText(field, text, allowed_scripts)
        return next((finding for check in CHECKS if (finding := check(self, checked))), None)


Check = Callable[[RecordContext, CheckedText], Finding | None]


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
    return None if finding and finding.check == "defamation" and context.says_nothing_new(checked.text) else finding


def link(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find web and mail addresses that advertise."""
    return _finding("link", advertised_address(checked.text, record_texts(context.record)))


def prompt_echo(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find runs of words copied from the instructions in the prompt."""
    return _finding("echo", first_shared_shingle(checked.text, _PROMPT))


def script(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find texts in a script that the field's languages and the record do not use."""
    return _finding("script", foreign_script(checked.text, checked.allowed_scripts))


def other_tool(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find the identifier of another tool of the catalog."""
    return _foreign_finding("tool", context.names.other_tool(checked.text, context.record), context, checked)


def other_provider(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find the name of a provider that the record does not name."""
    return _foreign_finding("provider", context.names.other_provider(checked.text, context.providers), context, checked)


def unsupported_operation(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find phrases that ask to delete, cancel, pay or send, where the record speaks of no such thing."""
    if checked.field not in ("user_phrases", "when_to_use"):
        return None
    return _foreign_finding("operation", operations.unsupported(checked.text, context.operations), context, checked)


def steered(context: RecordContext, checked: CheckedText) -> Finding | None:
    """Find texts that share little with a record that tries to steer: they may say what it asked for."""
    if context.record_terms is None or shares_terms(checked.text, context.record_terms):
        return None
    return Finding("steered", "the record tries to steer, and the rest of it says little of this")


def advertised_address(text: str, record_texts: Iterable[str]) -> str:
    """Return the first address of a text that advertises; else an empty text.

    An address advertises if its host is copied from the record, or if it is a web address and no text of the record
    speaks of web addresses. Models invent other addresses, as people would give them: those may stay.
    """
    if "@" not in text and ":" not in text and "www." not in text.casefold():
        return ""
    for match in _ADDRESS.finditer(text):
        host = match["host"] or match["mail"]
        if host is None:
            return match.group()
        if _EXAMPLE.fullmatch(host):
            continue
        texts = [*record_texts]
        if any(host.casefold() in other.casefold() for other in texts):
            return match.group()
        if match["host"] and not any(_TAKES_ADDRESSES.search(_HUMPS.sub(" ", other)) for other in texts):
            return match.group()
    return ""


def _foreign_finding(check: str, detail: str, context: RecordContext, checked: CheckedText) -> Finding | None:
    """Return the finding in a text that says more than what the record's own words say."""
    return Finding(check, detail) if detail and not context.says_nothing_new(checked.text) else None


def _finding(check: str, detail: str) -> Finding | None:
    return Finding(check, detail) if detail else None


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
