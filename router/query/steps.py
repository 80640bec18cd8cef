"""Query decomposition: cuts a request into steps, without a model.

"Pull failed payments, file a ticket and tell the team" has three steps. The text is cut at the ends of sentences, and
at commas, colons, dashes and conjunctions where a new intent begins, but never inside quotes. A clause with too few
terms of its own ("delete it") stays with the clause before it. Of a long request, mostly the intents are kept.

See docs/decisions/steps.md for the evidence.
"""

import re
from functools import cache, reduce
from operator import add

import msgspec

from router.query.intent_detection import OPENING_LENGTH, expresses_intent, starts_with_intent
from router.text import terms

_MAX_STEPS = 8  # each is encoded, which takes milliseconds
_MAX_WORDS = 150  # encoders read about 190; statements in a longer request are mostly pasted text
# A statement may be a step ("the deal counts as won") or its setting ("my name is …"). Among many intents it is a step.
_STATEMENT_WEIGHT = 0.7
MANY_STEPS = 4
_MIN_TERMS = 3  # that a clause must have of its own to be a step

# Bounded, so that thousands of quotes that never close cost linear time.
_QUOTED = re.compile(
    r"\"[^\"]{0,400}\"|“[^”]{0,400}”|‘[^’]{0,400}’|`[^`]{0,400}`|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){0,400}'(?!\w)"
)
_SENTENCE = re.compile(r"(?<=[.!?;])[\"')\]”]* +(?=\S)|\n|(?<=[。！？；])")
_CLAUSE = re.compile(
    r" ?[,;:] (?:(?:and|then|also|but|or|plus|while|before|after) )*"
    r"| (?:--?|–|—|->|→) (?:(?:and|then|also) )*"
    r"| (?:(?:and|then|also|plus|while|before|after) )+",
    re.IGNORECASE,
)
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Inc|Ltd|Co|Corp|vs|etc|e\.g|i\.e|a\.m|p\.m|[A-Z])\.$")
_WORD = re.compile(r"\w+")
_MARKS = " \n,;"  # stripped around a clause
# Words that name no action and no object.
_FILLERS = (
    "able addition afterwards all another anything appropriate assist completion day else everything first finally "
    "following function good hello help hi hope information kindly know lastly like me meanwhile need next now ok okay "
    "one other please possible problem question second task thank thanks then thing third time tool try want way wish"
)

Span = tuple[int, int]


class Steps(msgspec.Struct, frozen=True):
    """The steps of a request in its order; empty where the request is a single step.

    `weights` are 1 for steps that express an intent, and less for statements unless MANY_STEPS are intents. `share` is
    the fraction of the request's words that the steps hold: below 1 where statements of a long request were left out.
    `spans` are the character ranges of each step, start to end (exclusive), in `request`, the request with its white
    space collapsed. `stated` tells that they are no part of the request, but needs that its caller stated.
    """

    texts: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    share: float = 1.0
    request: str = ""
    spans: tuple[tuple[Span, ...], ...] = ()
    stated: bool = False

    def __len__(self) -> int:
        return len(self.texts)


class _Piece(msgspec.Struct, frozen=True):
    """One or several clauses that belong together, with their character ranges in the request."""

    text: str
    spans: tuple[Span, ...]

    def __add__(self, other: "_Piece") -> "_Piece":
        return _Piece(f"{self.text} {other.text}", self.spans + other.spans)


def find_steps(request: str) -> Steps:
    """Return the steps of a request. A long one (pasted mail, logs) may have a single step: its intent."""
    # Collapsed white space keeps the patterns above linear.
    text = "\n".join(" ".join(line.split()) for line in request.strip().splitlines())
    clauses = _clauses(text)
    word_count = _count_words(request)
    if len(clauses) < 2 and word_count <= _MAX_WORDS and not _is_machine_text(text):
        return Steps()  # a shortcut for most requests: the code below gives the same
    pieces = _merge_short(clauses)
    prose_clauses = [clause for clause in clauses if not _is_machine_text(clause.text)]
    if len(pieces) <= _MAX_STEPS and word_count <= _MAX_WORDS and not _is_pasted(request, prose_clauses, clauses):
        return _weighted_steps(text, pieces) if len(pieces) > 1 else Steps()
    # People state what they want first or last, if they do not ask for it explicitly.
    prose = _merge_short(prose_clauses)
    last = len(prose) - 1
    steps = [piece for place, piece in enumerate(prose) if place in (0, last) or expresses_intent(piece.text)]
    if len(steps) > _MAX_STEPS:
        steps = [*steps[: _MAX_STEPS // 2], *steps[-_MAX_STEPS // 2 :]]
    share = min(1.0, sum(_count_words(piece.text) for piece in steps) / max(word_count, 1))
    return _weighted_steps(text, steps, share)


def _weighted_steps(request: str, pieces: list[_Piece], share: float = 1.0) -> Steps:
    intents = [expresses_intent(piece.text) for piece in pieces]
    # Where no intent is recognised, as in most other languages, all weigh the same.
    statement_weight = _STATEMENT_WEIGHT if 0 < sum(intents) < MANY_STEPS else 1.0
    weights = tuple(1.0 if is_intent else statement_weight for is_intent in intents)
    return Steps(tuple(p.text for p in pieces), weights, share, request, tuple(p.spans for p in pieces))


def _merge_short(clauses: list[_Piece]) -> list[_Piece]:
    """Drop clauses without terms, and join those with too few terms to the clause before."""
    pieces: list[_Piece] = []
    pending: list[_Piece] = []
    for clause in clauses:
        term_count = sum(not term.isdigit() for term in set(terms(clause.text)) - _filler_terms())
        if not term_count:
            continue
        if term_count >= _MIN_TERMS:
            pieces.append(reduce(add, [*pending, clause]))
            pending = []
        elif pieces:
            pieces[-1] += clause
        else:
            pending.append(clause)
    return pieces if pieces or not pending else [reduce(add, pending)]


def _clauses(text: str) -> list[_Piece]:
    """Return the clauses of a text, cut at sentence ends and where a new intent begins."""
    start, last = 0, len(text)
    if len(text) > 2 and text[0] in "\"'“" and text[-1] in "\"'”" and not set("\"'“”") & set(text[1:-1]):
        start, last = 1, len(text) - 1
    quoted = bytearray(len(text) + 1)
    for quote in _QUOTED.finditer(text, start, last):
        first, end = quote.span()
        quoted[first + 1 : end] = b"\1" * (end - first - 1)
    cuts: list[Span] = []
    ends = [m.end() for m in _SENTENCE.finditer(text, start, last) if _ends_sentence(text, m.start(), quoted)]
    for end in [*ends, last]:
        clause_start = start
        for match in _CLAUSE.finditer(text, start, end):
            joined = match.group().strip(" ,;:-–—>→") != ""
            if (
                match.start() > clause_start
                and not quoted[match.start()]
                and starts_with_intent(text[match.end() : min(end, match.end() + OPENING_LENGTH)], joined=joined)
            ):
                cuts.append((clause_start, match.start()))
                clause_start = match.end()
        cuts.append((clause_start, end))
        start = end
    return [clause for clause in (_clause(text, *cut) for cut in cuts) if clause.text]


def _clause(text: str, first: int, last: int) -> _Piece:
    """Return the text between two cuts, without the marks around it."""
    raw = text[first:last]
    clause = raw.strip(_MARKS)
    first += len(raw) - len(raw.lstrip(_MARKS))
    return _Piece(clause, ((first, first + len(clause)),))


def _ends_sentence(text: str, position: int, quoted: bytearray) -> bool:
    """Return whether the mark before a position ends a sentence: not inside quotes, nor the dot of "Mr." or "J."."""
    return not quoted[position] and not _ABBREVIATION.search(text[max(0, position - 6) : position])


def _is_pasted(request: str, prose_clauses: list[_Piece], clauses: list[_Piece]) -> bool:
    """Return whether a request of several lines is more than three quarters log, code or numbers."""
    prose_length, length = (sum(len(clause.text) for clause in group) for group in (prose_clauses, clauses))
    return bool(prose_clauses) and "\n" in request.strip() and 4 * prose_length < length


def _is_machine_text(piece: str) -> bool:
    """Return whether a piece is a line of a log or code: those are about 30 % digits and signs, prose below 10 %."""
    if piece.isascii():  # the same in a tenth of the time
        return len(piece.translate(_WITHOUT_PROSE)) > 0.2 * len(piece)
    return sum(not _is_prose(character) for character in piece) > 0.2 * len(piece)


def _is_prose(character: str) -> bool:
    return character.isalpha() or character.isspace() or character in "'’.,!?"


_WITHOUT_PROSE = {code: None for code in range(128) if _is_prose(chr(code))}


def _count_words(text: str) -> int:
    return len(_WORD.findall(text))


@cache
def _filler_terms() -> frozenset[str]:
    return frozenset(terms(_FILLERS))
