"""Find names of other tools and providers, and distinguish them from ordinary words."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from router.record import ToolRecord
from router.tools.text_overlap import label_words

_WORD = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Never in English prose: words joined by `_`, humps as in listCharges, an id with its provider, a.dotted.path.
_STRUCTURED = re.compile(r"\w_\w|(?<![a-z0-9])[0-9]*[a-z][a-z0-9]*+[A-Z]\w*[a-z]|\w/\w|\w[.-]\w+[.-]\w")
_IDENTIFIER = re.compile(r"@?\w[\w./~-]*\w")
_SENTENCE_START = re.compile(r"(?:^|[.!?:*\n(-]\s{0,40})$")
_LONGEST = 3  # words of a provider's name
# A description that names more providers than this is a list, and supports none of them.
# See docs/decisions/phrase-checks.md.
_MOST_NAMED = 4

Name = tuple[str, ...]


class Names:
    """The identifiers and the providers of a catalog. Its descriptions are read once a text names a provider."""

    def __init__(self, records: Sequence[ToolRecord]) -> None:
        self._tools = {
            name.casefold()
            for record in records
            for name in (record.name, record.tool_id)
            if len(name) > 3 and _STRUCTURED.search(name)
        }
        self._vendors: dict[Name, set[str]] = {}
        for provider in {record.provider for record in records if record.provider}:
            name = label_words(provider)
            if len("".join(name)) > 3 and len(name) <= _LONGEST:
                self._vendors.setdefault(name, set()).add(_vendor(provider))
        self._starts = frozenset(name[0] for name in self._vendors)
        self._descriptions = {record.description for record in records}

    @cached_property
    def _cases(self) -> tuple[Counter[Name], Counter[Name]]:
        """How often descriptions write each name in lower case, and with a capital within a sentence."""
        lower, upper = Counter[Name](), Counter[Name]()
        for text in self._descriptions:
            for name, written, before in self._runs(text):
                if written[0].islower():
                    lower[name] += 1
                elif not _SENTENCE_START.search(before[-40:]):
                    upper[name] += 1
        return lower, upper

    def other_tool(self, text: str, record: ToolRecord) -> str:
        """Return the first identifier of another tool in a text; else an empty text.

        A name that is also the tool's own does not count.
        """
        if not _STRUCTURED.search(text):
            return ""
        own = (record.name.casefold(), record.tool_id.casefold())
        for identifier in _IDENTIFIER.findall(text):
            if _STRUCTURED.search(identifier) and (name := identifier.casefold()) in self._tools and name not in own:
                return str(identifier)
        return ""

    def other_provider(self, text: str, supported: frozenset[Name]) -> str:
        """Return the first provider that a text names and that is not among the supported; else an empty text."""
        for name, written, before in self._runs(text):
            if name not in supported and self._is_name(name, written, before):
                return written
        return ""

    def supported(self, record: ToolRecord) -> frozenset[Name]:
        """Return the providers that texts for a tool may name: its own vendor's, and those that its record names.

        A description may name partners honestly (a GitHub tool in somebody's collection). The record must be
        sanitized, so that no promotion is left in it.
        """
        vendor = _vendor(record.provider) if record.provider else None
        identifiers = [record.provider or "", record.name, *record.categories, *(p.path for p in record.parameters)]
        values = [value for parameter in record.parameters for value in parameter.enum]
        own = {name for name, vendors in self._vendors.items() if vendor in vendors}
        own |= {
            name
            for text in (*identifiers, *(_HUMPS.sub(" ", identifier) for identifier in identifiers), *values)
            for name, _, _ in self._runs(text)
        }
        prose = [record.description, *record.examples, *(parameter.description for parameter in record.parameters)]
        partners = {name for text in prose for name, *where in self._runs(text) if self._is_name(name, *where)} - own
        return frozenset(own | partners if len(partners) <= _MOST_NAMED else own)

    def _is_name(self, name: Name, written: str, before: str) -> bool:
        """Return whether words are used as a name, given how they are written and the text before them.

        They are where the catalog's prose always writes them with a capital. Words that it writes both ways need a
        capital here too, and not only because a sentence begins: a provider may be called `bank` or `search`.
        """
        lower, upper = (counts[name] for counts in self._cases)
        if upper > 0 and upper >= 5 * lower:
            return True
        inner_capital = written[1:] != written[1:].lower()
        return upper >= lower and (inner_capital or (written[0].isupper() and bool(before.strip())))

    def _runs(self, text: str) -> Iterator[tuple[Name, str, str]]:
        """Yield runs of words that may be names: the name, the words as written, and the text before them."""
        matches = list(_WORD.finditer(text))
        words = [match.group().casefold() for match in matches]
        if self._starts.isdisjoint(words):
            return
        for first, word in enumerate(words):
            if word not in self._starts:
                continue
            for last in range(first, min(first + _LONGEST, len(words))):
                name = tuple(words[first : last + 1])
                if name in self._vendors:
                    begin = matches[first].start()
                    yield name, text[begin : matches[last].end()], text[:begin]


def _vendor(provider: str) -> str:
    """Return the vendor of a provider: `azure` of `azure/monitor` and `azure/storage`."""
    return provider.split("/", 1)[0].casefold()
