"""Names of other tools and other providers, told from the ordinary words that some of them are."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from router.record import ToolRecord
from router.tools.provider_labels import said_label

_WORD = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
# What no English sentence holds: words joined by `_`, humps as in listCharges, an id with its provider, a.dotted.path.
_STRUCTURED = re.compile(r"\w_\w|[a-z][a-z0-9]*[A-Z]\w*[a-z]|\w/\w|\w[.-]\w+[.-]\w")
_IDENTIFIER = re.compile(r"@?\w[\w./~-]*\w")
_SENTENCE_START = re.compile(r"(?:^|[.!?:*\n(-]\s*)$")
_LONGEST = 3  # words of a provider's name
# Of 9,974 real MCP tools the descriptions of 212 name another provider, and none names more than four: a longer list
# stands for none of them.
_MOST_NAMED = 4

Name = tuple[str, ...]


class Names:
    """The identifiers and the providers of a catalog. Made with one pass over the catalog's descriptions."""

    def __init__(self, records: Sequence[ToolRecord]) -> None:
        self._tools = {
            name.casefold()
            for record in records
            for name in (record.name, record.tool_id)
            if len(name) > 3 and _STRUCTURED.search(name)
        }
        self._vendors: dict[Name, set[str]] = {}
        for provider in {record.provider for record in records if record.provider}:
            name = said_label(provider)
            if len("".join(name)) > 3 and len(name) <= _LONGEST:
                self._vendors.setdefault(name, set()).add(_vendor(provider))
        self._starts = frozenset(name[0] for name in self._vendors)
        self._lower, self._upper = self._usage(records)

    def state(self) -> dict[str, Any]:
        """All of it that an answer to a question hangs on, JSON-ready: the tools; and by name its vendors, and of how
        often it is written which of the two ways prevails."""
        return {
            "tools": sorted(self._tools),
            "vendors": {
                " ".join(name): [sorted(vendors), self._is_always(name), self._is_often(name)]
                for name, vendors in sorted(self._vendors.items())
            },
        }

    def other_tool(self, text: str, record: ToolRecord) -> str:
        """The first identifier of another tool in a text; else empty. A name that is also the tool's own is not."""
        if not _STRUCTURED.search(text):
            return ""
        own = (record.name.casefold(), record.tool_id.casefold())
        for found in _IDENTIFIER.findall(text):
            if _STRUCTURED.search(found) and (name := found.casefold()) in self._tools and name not in own:
                return str(found)
        return ""

    def other_provider(self, text: str, supported: frozenset[Name]) -> str:
        """The first provider that a text names and that is not among the supported; else empty."""
        for name, said, before in self._runs(text):
            if name not in supported and self._is_name(name, said, before):
                return said
        return ""

    def supported(self, record: ToolRecord) -> frozenset[Name]:
        """The providers that a tool may be spoken of with: its own vendor's, and those that its record names.

        A description does name partners honestly (a GitHub tool in somebody's collection). What it says over others is
        to be out of it already.
        """
        vendor = _vendor(record.provider) if record.provider else None
        own = {name for name, vendors in self._vendors.items() if vendor in vendors}
        for text in (record.provider or "", record.name, *record.categories, *(p.path for p in record.parameters)):
            own |= self._named(text) | self._named(_HUMPS.sub(" ", text))
        for parameter in record.parameters:
            for value in parameter.enum:
                own |= self._named(value)
        prose = [record.description, *record.examples, *(parameter.description for parameter in record.parameters)]
        partners = {name for text in prose for name, *said in self._runs(text) if self._is_name(name, *said)} - own
        return frozenset(own | partners if len(partners) <= _MOST_NAMED else own)

    def _named(self, text: str) -> set[Name]:
        return {name for name, _, _ in self._runs(text)}

    def _is_name(self, name: Name, said: str, before: str) -> bool:
        """Whether the words are a name here. In the catalog's own prose a name has a capital, an ordinary word has not.

        Words that it does not write, or in both ways, need a capital here, within or past the first word: a provider
        may be called `bank`, `people` or `search`.
        """
        if self._is_always(name):
            return True
        return self._is_often(name) and (said[1:] != said[1:].lower() or (said[0].isupper() and bool(before.strip())))

    def _is_always(self, name: Name) -> bool:
        return self._upper[name] > 0 and self._upper[name] >= 5 * self._lower[name]

    def _is_often(self, name: Name) -> bool:
        return self._upper[name] >= self._lower[name]

    def _usage(self, records: Sequence[ToolRecord]) -> tuple[Mapping[Name, int], Mapping[Name, int]]:
        """How often each name stands in the catalog's descriptions in lower case, and with a capital mid-sentence."""
        lower: Counter[Name] = Counter()
        upper: Counter[Name] = Counter()
        for text in {record.description for record in records}:
            for name, said, before in self._runs(text):
                if said[0].islower():
                    lower[name] += 1
                elif not _SENTENCE_START.search(before[-40:]):
                    upper[name] += 1
        return lower, upper

    def _runs(self, text: str) -> Iterator[tuple[Name, str, str]]:
        """Runs of words of a text that are names: the name, the words as they stand, and what is before them."""
        found = list(_WORD.finditer(text))
        words = [match.group().casefold() for match in found]
        if self._starts.isdisjoint(words):
            return
        for first, word in enumerate(words):
            if word not in self._starts:
                continue
            for last in range(first, min(first + _LONGEST, len(words))):
                name = tuple(words[first : last + 1])
                if name in self._vendors:
                    begin = found[first].start()
                    yield name, text[begin : found[last].end()], text[:begin]


class NameChanges:
    """What differs between two states of `Names`: whose questions have to be asked again."""

    def __init__(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        self._tools = set(before["tools"]) ^ set(now["tools"])
        old, new = before["vendors"], now["vendors"]
        names = {name for name in (*old, *new) if old.get(name) != new.get(name)}
        self._words = {name.split(" ", 1)[0] for name in names}
        self._vendors = {vendor for name in names for of in (old, new) if name in of for vendor in of[name][0]}

    def concerns(self, record: ToolRecord, texts: Sequence[str]) -> bool:
        """Whether an answer about a record and texts written for it may be another; True more often than need be."""
        if self._tools and any(
            found.casefold() in self._tools for text in texts for found in _IDENTIFIER.findall(text)
        ):
            return True
        if not self._words:
            return False
        if record.provider and _vendor(record.provider) in self._vendors:
            return True
        said = [record.name, record.provider or "", record.description, *record.categories, *record.examples]
        for parameter in record.parameters:
            said += (parameter.path, parameter.description, *parameter.enum)
        whole = "\n".join((*said, *texts))
        return any(
            not self._words.isdisjoint(_WORD.findall(text.casefold())) for text in (whole, _HUMPS.sub(" ", whole))
        )


def _vendor(provider: str) -> str:
    """Who stands behind a provider: `azure` of `azure/monitor` and `azure/storage`."""
    return provider.split("/", 1)[0].casefold()
