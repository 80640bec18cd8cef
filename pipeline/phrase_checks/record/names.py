"""Find names of other tools and other providers, and tell them from ordinary words."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
# See docs/decisions/0032-record-checks.md.
_MOST_NAMED = 4

Name = tuple[str, ...]


class Names:
    """The identifiers and the providers of a catalog, collected in one pass over the catalog's descriptions."""

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
        self._lower, self._upper = self._usage(records)

    def state(self) -> dict[str, Any]:
        """Return all that verdicts depend on, JSON-ready: the tools, and by name its vendors and how it is written.

        How it is written is a pair: always with a capital, and at least as often with a capital as without.
        """
        return {
            "tools": sorted(self._tools),
            "vendors": {
                " ".join(name): [sorted(vendors), self._is_always(name), self._is_often(name)]
                for name, vendors in sorted(self._vendors.items())
            },
        }

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

        A description may name partners honestly (a GitHub tool in somebody's collection). The record must be one that
        `trusted` has cleaned, so that no promotion is left in it.
        """
        vendor = _vendor(record.provider) if record.provider else None
        own = {name for name, vendors in self._vendors.items() if vendor in vendors}
        for text in (record.provider or "", record.name, *record.categories, *(p.path for p in record.parameters)):
            own |= self._named(text) | self._named(_HUMPS.sub(" ", text))
        for parameter in record.parameters:
            for value in parameter.enum:
                own |= self._named(value)
        prose = [record.description, *record.examples, *(parameter.description for parameter in record.parameters)]
        partners = {name for text in prose for name, *where in self._runs(text) if self._is_name(name, *where)} - own
        return frozenset(own | partners if len(partners) <= _MOST_NAMED else own)

    def _named(self, text: str) -> set[Name]:
        return {name for name, _, _ in self._runs(text)}

    def _is_name(self, name: Name, written: str, before: str) -> bool:
        """Return whether words are used as a name, given how they are written and the text before them.

        They are where the catalog's prose always writes them with a capital. Words that it writes both ways need a
        capital here too, and not only because a sentence begins: a provider may be called `bank` or `search`.
        """
        if self._is_always(name):
            return True
        inner_capital = written[1:] != written[1:].lower()
        return self._is_often(name) and (inner_capital or (written[0].isupper() and bool(before.strip())))

    def _is_always(self, name: Name) -> bool:
        return self._upper[name] > 0 and self._upper[name] >= 5 * self._lower[name]

    def _is_often(self, name: Name) -> bool:
        return self._upper[name] >= self._lower[name]

    def _usage(self, records: Sequence[ToolRecord]) -> tuple[Mapping[Name, int], Mapping[Name, int]]:
        """Count how often descriptions write each name in lower case, and with a capital within a sentence."""
        lower: Counter[Name] = Counter()
        upper: Counter[Name] = Counter()
        for text in {record.description for record in records}:
            for name, written, before in self._runs(text):
                if written[0].islower():
                    lower[name] += 1
                elif not _SENTENCE_START.search(before[-40:]):
                    upper[name] += 1
        return lower, upper

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


class NameChanges:
    """The differences between two states of `Names`, which decide what must be checked again."""

    def __init__(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        self._tools = set(before["tools"]) ^ set(now["tools"])
        old, new = before["vendors"], now["vendors"]
        names = {name for name in (*old, *new) if old.get(name) != new.get(name)}
        self._words = {name.split(" ", 1)[0] for name in names}
        self._vendors = {vendor for name in names for of in (old, new) if name in of for vendor in of[name][0]}

    def concerns(self, record: ToolRecord, texts: Sequence[str]) -> bool:
        """Return whether verdicts on texts written for a record may differ now. True more often than necessary."""
        if self._tools and any(
            identifier.casefold() in self._tools for text in texts for identifier in _IDENTIFIER.findall(text)
        ):
            return True
        if not self._words:
            return False
        if record.provider and _vendor(record.provider) in self._vendors:
            return True
        parts = [record.name, record.provider or "", record.description, *record.categories, *record.examples]
        for parameter in record.parameters:
            parts += (parameter.path, parameter.description, *parameter.enum)
        whole = "\n".join((*parts, *texts))
        return any(
            not self._words.isdisjoint(_WORD.findall(text.casefold())) for text in (whole, _HUMPS.sub(" ", whole))
        )


def _vendor(provider: str) -> str:
    """Return the vendor of a provider: `azure` of `azure/monitor` and `azure/storage`."""
    return provider.split("/", 1)[0].casefold()
