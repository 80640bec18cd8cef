"""Intent detection: the clauses of a request that ask for something, by rules for English.

A clause expresses an intent by an imperative ("file a ticket"), a question, or a wish ("I also need …"). In other
languages only a question mark is recognised.
"""

import re

# Imperatives: the lexicon's verbs and more, without those that more often begin something else (new, like, leave).
# A verb that is missing costs a cut that is not made.
VERBS = frozenset(
    (
        "abort accept access acknowledge activate add adjust alert allow analyse analyze annotate announce answer "
        "append apply approve archive arrange ask assemble assess assign attach authenticate authorize back backup "
        "ban begin bill block book bring browse build buy calculate call cancel capture change charge chart check "
        "choose classify clean clear clone close collect combine comment commit compare compile complete compose "
        "compress compute configure confirm connect convert copy count crawl create crop cut deactivate debug "
        "decline deduct define delete deliver deny deploy deposit describe design destroy detach detect determine "
        "develop dial disable disconnect dismiss dispatch display divide do download draft draw drop duplicate "
        "e-mail edit email enable encrypt end enrich ensure enter erase estimate evaluate examine exchange execute "
        "expand explain export extend extract fetch file fill filter find finish fix flag follow forecast format "
        "forward generate get give go grab grant group hand help hide highlight hire hold identify import include "
        "increase index inform initiate insert inspect install integrate invite invoice invoke issue join keep kick "
        "label launch let link list load locate lock log look lookup lower mail make manage map mark measure merge "
        "message modify monitor move mute notify offer open optimize order organise organize outline page parse "
        "paste patch pause pay perform pick pin ping place plan play plot post predict prepare present preview print "
        "process produce promote provide publish pull purchase push put query queue raise rank rate reach react read "
        "rebook rebuild recalculate recommend record recover redeem reduce refresh refund register reject release "
        "reload remind remove rename render renew rent reopen repeat replace reply report request reschedule "
        "research resend reserve reset resize resolve respond restart restore resume retrieve retry return reverse "
        "revert review revoke roll rotate route run save say scan schedule scrape search see select sell send set "
        "settle share shift ship show sign simulate skip snooze solve sort split spot start stop store submit "
        "subscribe suggest sum summarise summarize suspend swap switch sync synchronize tag take tell terminate test "
        "text track train transcribe transfer transform translate trigger turn type unassign unblock undo uninstall "
        "unlock unpin unsubscribe update upgrade upload upsert use validate verify view visit visualise visualize "
        "void vote wait wake warn watch wipe withdraw write zip"
    ).split()
)
# May stand before the verb: courtesies, order, the person.
_BEFORE = frozenset(
    (
        "after also and additionally as can could finally first firstly for help hope i i'd immediately just kindly "
        "lastly later let's like maybe me need next now perhaps please second secondly that them then third thirdly to "
        "us wanna want we we'd well will wish would you"
    ).split()
)
_QUESTIONS = frozenset("how what when where which who whom whose why".split())

_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
OPENING_LENGTH = 90  # characters that `starts_with_intent` reads: eight words and their courtesies
_WISH = re.compile(r"(?:i|we)(?:['’]d)?\s+(?:(?:also|then|would)\s+)*(?:need|want|wish|hope|like)\b", re.IGNORECASE)
_QUESTION = re.compile(
    r"\W*(?:(?:also|and|then|so|next|finally|lastly|first|second|third|now)\W+)*"
    r"(?:how|what|when|where|which|who|whom|whose|why|is|are|do|does|did|can|could|would|will|has|have|should)\b",
    re.IGNORECASE,
)
_REQUEST_PHRASE = re.compile(
    r"\b(?:please|kindly|help me|must|should|(?:has|have|needs?) to|(?:can|could|will|would) (?:you|somebody|someone)"
    r"|(?:i|we)(?:['’](?:d|m|re)| am| are)?(?: \w+){0,2} (?:need|want|wish|hope|like|looking|interested))\b",
    re.IGNORECASE,
)


def starts_with_intent(text: str, *, joined: bool) -> bool:
    """Return whether a text starts with an imperative, after any courtesies.

    With `joined` (the text follows "and" or "then"), a question or a wish counts too. After a bare comma, "which …" and
    "I want …" continue the sentence.
    """
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text[:OPENING_LENGTH])]
    if joined and (_WISH.match(text) or (words and words[0].split("'")[0] in _QUESTIONS)):
        return True
    for word in words[:8]:
        if word in VERBS:
            return True
        if word not in _BEFORE:
            return False
    return False


def expresses_intent(text: str) -> bool:
    """Return whether a clause is an imperative, a question or a wish, rather than a statement."""
    if text.rstrip("\"'”’)] ").endswith(("?", "？")):
        return True
    return bool(_QUESTION.match(text) or _REQUEST_PHRASE.search(text)) or starts_with_intent(text, joined=True)
