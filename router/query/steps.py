"""A request to its steps, without a model: "pull failed payments, file a ticket and tell the team" has three.

Cut at the ends of sentences, and at commas, colons, dashes and conjunctions where a demand opens (`demands`); never
inside quotes. A piece that says too little of its own ("delete it") stays with the piece before it.

Of a long request only what it asks is kept. With a log of 300 words beside it a request's tool was first for 0, 0 and
.05 of 40 requests each (Azure MCP, demo, ToolPicker), as the encoder stops reading after some 190; so cut, for .93,
.58 and .93; without the log .90, .63 and .95.
"""

import re
from dataclasses import dataclass
from functools import cache, reduce
from operator import add

from router.query.intent_detection import OPENING_LENGTH, expresses_intent, starts_with_intent
from router.text import terms

# Each step is encoded, which takes milliseconds. Multi-tool Recall@10 on BFCL .929 with eight, .924 with six.
_MOST = 8
# Words; encoders read about 190 of them. Beyond, what is told is pasted text and only what is asked is kept.
_LONG = 150
# A statement may be a step ("the deal counts as won") or its setting ("my name is …"). Gain in Full Recall@10 over
# requests of several steps, mean of seven sets, at weight 1, .7, .4, 0: +1.9, +2.5, +2.2, +1.7 points.
_STATEMENT = 0.7
# Terms of its own that a piece needs to stand alone. With 2, requests of one step lose .1 nDCG@10; with 3, nothing.
_LEAST = 3

# Bounded: thousands of quotes that never close would each be looked for to the end.
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
_MARKS = " \n,;"  # around a clause
# Words that fill a clause and name nothing to do.
_FILLERS = (
    "able addition afterwards all another anything appropriate assist completion day else everything first finally "
    "following function good hello help hi hope information kindly know lastly like me meanwhile need next now ok okay "
    "one other please possible problem question second task thank thanks then thing third time tool try want way wish"
)


Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a request in its order; none where it has one step.

    `weights` are 1 for what is asked and less for what is told. `share` is how much of the request, in words, the
    steps hold: 1 unless it is long and what is told was left out. `spans` are the characters of each step, from first
    to before last, in `request`, which is the request with runs of spaces as one.
    """

    texts: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    share: float = 1.0
    request: str = ""
    spans: tuple[tuple[Span, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class _Piece:
    """One or several clauses that belong together."""

    text: str
    spans: tuple[Span, ...]

    def __add__(self, other: "_Piece") -> "_Piece":
        return _Piece(f"{self.text} {other.text}", self.spans + other.spans)


def find_steps(request: str) -> Steps:
    """The steps of a request. A long one (pasted mail, logs) may have a single step: what it asks."""
    # Runs of spaces are one: the patterns above need not look for more, and cannot be made to.
    text = "\n".join(" ".join(line.split()) for line in request.strip().splitlines())
    clauses = _clauses(text)
    total = _length(request)
    if len(clauses) < 2 and total <= _LONG and not _machine_text(text):
        return Steps()  # as most requests are, and as what follows would find
    pieces = _pieces(clauses)
    said = [clause for clause in clauses if not _machine_text(clause.text)]
    if len(pieces) <= _MOST and total <= _LONG and not _pasted(request, said, clauses):
        return _weighed(text, pieces) if len(pieces) > 1 else Steps()
    # People say what they want first or last, if they do not ask for it in so many words.
    prose = _pieces(said)
    kept = [piece for place, piece in enumerate(prose) if place in (0, len(prose) - 1) or expresses_intent(piece.text)]
    if len(kept) > _MOST:
        kept = [*kept[: _MOST // 2], *kept[-_MOST // 2 :]]
    return _weighed(text, kept, min(1.0, sum(_length(piece.text) for piece in kept) / max(total, 1)))


def _weighed(request: str, pieces: list[_Piece], share: float = 1.0) -> Steps:
    asked = [expresses_intent(piece.text) for piece in pieces]
    # Where nothing asks, as in a language whose demands are not known here, all weigh the same.
    weights = tuple(1.0 if yes or not any(asked) else _STATEMENT for yes in asked)
    return Steps(tuple(p.text for p in pieces), weights, share, request, tuple(p.spans for p in pieces))


def _pieces(clauses: list[_Piece]) -> list[_Piece]:
    """Clauses that say something, those that say too little of their own with the one before."""
    pieces: list[_Piece] = []
    pending: list[_Piece] = []
    for clause in clauses:
        own = sum(not term.isdigit() for term in set(terms(clause.text)) - _fillers())
        if not own:
            continue
        if own >= _LEAST:
            pieces.append(reduce(add, [*pending, clause]))
            pending = []
        elif pieces:
            pieces[-1] += clause
        else:
            pending.append(clause)
    return pieces if pieces or not pending else [reduce(add, pending)]


def _clauses(text: str) -> list[_Piece]:
    start, last = 0, len(text)
    if len(text) > 2 and text[0] in "\"'“" and text[-1] in "\"'”" and not set("\"'“”") & set(text[1:-1]):
        start, last = 1, len(text) - 1
    quoted = bytearray(len(text) + 1)
    for quote in _QUOTED.finditer(text, start, last):
        first, end = quote.span()
        quoted[first + 1 : end] = b"\1" * (end - first - 1)
    cuts: list[Span] = []
    ends = [m.end() for m in _SENTENCE.finditer(text, start, last) if _ends(text, m.start(), quoted)]
    for end in [*ends, last]:
        begun = start
        for match in _CLAUSE.finditer(text, start, end):
            joined = match.group().strip(" ,;:-–—>→") != ""
            if (
                match.start() > begun
                and not quoted[match.start()]
                and starts_with_intent(text[match.end() : min(end, match.end() + OPENING_LENGTH)], joined=joined)
            ):
                cuts.append((begun, match.start()))
                begun = match.end()
        cuts.append((begun, end))
        start = end
    return [clause for clause in (_clause(text, *cut) for cut in cuts) if clause.text]


def _clause(text: str, first: int, last: int) -> _Piece:
    """What lies between two cuts, without the marks around it."""
    raw = text[first:last]
    said = raw.strip(_MARKS)
    first += len(raw) - len(raw.lstrip(_MARKS))
    return _Piece(said, ((first, first + len(said)),))


def _ends(text: str, position: int, quoted: bytearray) -> bool:
    """Whether the mark before a position ends a sentence: not inside quotes, nor the dot of "Mr." or "J."."""
    return not quoted[position] and not _ABBREVIATION.search(text[max(0, position - 6) : position])


def _pasted(request: str, said: list[_Piece], clauses: list[_Piece]) -> bool:
    """Whether a request of several lines is more than three quarters log, code or numbers."""
    prose, whole = (sum(len(clause.text) for clause in found) for found in (said, clauses))
    return bool(said) and "\n" in request.strip() and 4 * prose < whole


def _machine_text(piece: str) -> bool:
    """Whether a piece is a line of a log or of code. Log lines are about 30 % digits and signs, prose below 10 %."""
    signs = sum(not (character.isalpha() or character.isspace() or character in "'’.,!?") for character in piece)
    return signs > 0.2 * len(piece)


def _length(text: str) -> int:
    return len(_WORD.findall(text))


@cache
def _fillers() -> frozenset[str]:
    return frozenset(terms(_FILLERS))
