"""Find operations that change something, claimed for a tool whose record speaks of no such thing."""

import re

from router.record import ToolRecord
from router.tools.text_overlap import record_texts, term_set

_COURTESY = re.compile(
    r"^(?:(?:please|can you|could you|would you|i want to|i need to|i'd like to|i would like to|help me|let's|just|now"
    r"|go ahead and|then|and|use (?:this|it) to|when (?:you|somebody|someone|a user) (?:want|need)s? to)\b[\s,]*)+",
    re.IGNORECASE,
)
# How a claim begins. Any `remove`, `send` and `transfer` would begin too many harmless requests ("send me the menu").
# See docs/decisions/phrase-checks.md.
_CLAIMS = tuple(
    (claim, re.compile(begins, re.IGNORECASE))
    for claim, begins in (
        ("delete", r"(?:delete|erase|wipe|purge|destroy)\b"),
        ("cancel", r"cancel\b"),
        (
            "pay",
            r"(?:pay|buy|purchase|refund)\b"
            r"|(?:wire|transfer|send) (?:\S+ )?(?:money|funds|cash|\W?\d+ ?(?:dollars|euros))\b",
        ),
        (
            "send",
            r"(?:email|e-mail|tweet)\b"
            r"|send (?:an? |the |this |these |my |out )?(?:\w+ )?(?:e-?mails?|sms|tweets?|faxes|fax)\b",
        ),
    )
)
# Words of a record that support a claim. Wide on purpose: a tool that manages, edits or submits may well delete.
_ANY_CHANGE = (
    "manage manager management crud edit update modify change set configure write execute run command script shell "
    "action operation operate perform control administer admin automation automate workflow agent sandbox code sql "
    "query"
)
_SUPPORT = {
    "delete": "delete deletion remove removal erase wipe purge destroy trash discard drop clear clean cleanup reset "
    "unregister uninstall unlink detach revoke expire cancel cancellation filter empty prune bin terminate undo forget",
    "cancel": "cancel cancellation abort stop end terminate delete remove revoke withdraw unsubscribe close void undo "
    "refund",
    "pay": "pay payment payout buy purchase order checkout charge remit remittance transfer wire donate donation tip "
    "refund invoice bill billing deposit recharge top topup trade swap sale sell book booking reserve reservation "
    "ticket price shop shopping store product cart bank money finance financial fund fee spend transaction credit "
    "insurance subscription subscribe stock crypto wallet token settle cost travel hotel flight rent rental loan "
    "mortgage",
    "send": "send sender email mail mailbox inbox message messaging notify notification text sms post publish tweet "
    "twitter submit share deliver reply respond broadcast push alert invite fax contact newsletter smtp chat draft "
    "forward social",
}
_TERMS = {claim: term_set(f"{words} {_ANY_CHANGE}") for claim, words in _SUPPORT.items()}
# A description without any of these is not English prose, and cannot be searched for the words above.
_ENGLISH = re.compile(r"\b(?:the|of|for|with|from|and|by|to|an|in)\b", re.IGNORECASE)


def unsupported(text: str, support: frozenset[str]) -> str:
    """Return the operation that a text begins with and that `support` lacks; else an empty text."""
    start = _COURTESY.sub("", text)
    for claim, begins in _CLAIMS:
        if match := begins.match(start):
            return "" if claim in support else match.group()
    return ""


def supported(record: ToolRecord) -> frozenset[str]:
    """Return the operations that a record's words support; all of them where its description is not English."""
    if not _ENGLISH.search(record.description):
        return frozenset(_TERMS)
    record_terms = term_set(" ".join(record_texts(record)))
    return frozenset(claim for claim, supporting in _TERMS.items() if not supporting.isdisjoint(record_terms))
