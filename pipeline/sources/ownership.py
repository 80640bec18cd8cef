"""Decide to which entry of a catalog each provider label belongs, and name the tools of other entries that claim it.

Credentials, prerequisites, filters and globs of ids go by the label, so a source's own word must not decide alone. A
label belongs to the entries to which catalog.toml gives it by `provider`; else to the first that claims it, before any
folder or pattern. All files of an entry are one source. What an entry held at its last good read it keeps, also while
it cannot be read. See docs/decisions/sources.md.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, takewhile
from pathlib import PurePath
from urllib.parse import urlsplit

from pipeline.sentences import counted
from pipeline.settings import CatalogSettings, SourceSettings
from pipeline.sources.last_reading import FindReading, SourceReading, source_keys
from pipeline.sources.matching import WILD, names_many
from pipeline.sources.naming import name_of
from router.errors import quoted
from router.tools.definitions.raw_tool import RawTool, id_part
from router.tools.text_overlap import label_words

_KEY_DIGITS = 8


@dataclass(frozen=True, slots=True)
class PlacedSource:
    """A source with its key, and the place of its entry in the catalog, which files of one pattern share."""

    source: SourceSettings
    key: str
    entry: int


@dataclass(frozen=True)
class LabelOwnership:
    """The owners of a catalog's labels, of what its sources give in this build, or gave where they cannot be read."""

    catalog: CatalogSettings
    sources: Sequence[PlacedSource]
    readings: Mapping[str, SourceReading]
    last_reading: FindReading
    _remembered: dict[str, frozenset[str]] = field(default_factory=dict, init=False)

    def settled(self) -> dict[str, SourceReading]:
        """Return the readings by key, in which no tool has a label, or begins its own id with one, of another entry."""
        entries = {placed.key: placed.entry for placed in self.sources}
        return {key: self._settled(reading, entries[key]) for key, reading in self.readings.items()}

    def _settled(self, reading: SourceReading, entry: int) -> SourceReading:
        tools, lost = list[RawTool](), Counter[tuple[str, str]]()
        for tool in reading.tools:
            prefix, slash, _ = (tool.id or "").partition("/")
            if tool.provider and not self._may_use(entry, tool.provider):
                other = self._other_label(entry, tool.provider)
                lost[tool.provider, f"{quoted(other)} stands in its place"] += 1
                tool = replace(tool, provider=other)
            if slash and not self._may_use(entry, prefix):
                lost[prefix, "an id that does not begin with it stands in the place of the source's own"] += 1
                tool = replace(tool, id=None)
            tools.append(tool)
        if not lost:
            return reading
        file = "give the file an entry of its own and " if self._many[entry] else ""
        notices = (
            f"the label {quoted(label)} belongs to {name_of(self.catalog.source[self._owners[_compared(label)]])}: "
            f"{instead} for {counted(count, 'tool')}; where both are one vendor's, {file}write provider = "
            f"{quoted(label)} at both"
            for (label, instead), count in lost.items()
        )
        return replace(reading, tools=tuple(tools), notices=(*reading.notices, *notices))

    def _may_use(self, entry: int, label: str) -> bool:
        wanted, entries = _compared(label), self.catalog.source
        owner = self._owners.get(wanted, entry)
        # What a program's name labels says nothing of a vendor: all that one program prints shares it.
        shared = wanted == _program(entries[entry]) == _program(entries[owner])
        return owner == entry or shared or wanted in (_compared(self._stated[entry]), "")

    def _other_label(self, entry: int, label: str) -> str:
        """Return the label of an entry's tools in place of one that another has: by its place, whatever the order."""
        owners = self._owners
        labels = [*_joined_labels(self._names[entry], label), f"{self._entry_keys[entry][:_KEY_DIGITS]}-{label}"]
        found = next((one for one in labels if owners.get(_compared(one), entry) == entry), labels[-1])
        owners[_compared(found)] = entry
        return found

    @cached_property
    def _owners(self) -> dict[str, int]:
        """The entry that each label belongs to, by the form in which labels are compared."""
        claims: defaultdict[str, set[int]] = defaultdict(set)
        for placed in self.sources:
            read = self.readings.get(placed.key)
            labels = _labels_of(read) if read and read.tools else self._held(placed)
            for label in {*labels, _compared(placed.source.provider or "")} - {""}:
                claims[label].add(placed.entry)
        return {
            label: min(entries, key=lambda entry: self._rank(entry, label)) if len(entries) > 1 else entries.pop()
            for label, entries in claims.items()
        }

    def _rank(self, entry: int, label: str) -> tuple[bool, bool, bool, bool, int]:
        """Return the place of an entry among those that claim a label; the first owns it.

        One that is new, as after a move, goes before one that went by other labels until now.
        """
        held = frozenset[str]().union(*(self._held(placed) for placed in self.sources if placed.entry == entry))
        return _compared(self._stated[entry]) != label, self._many[entry], label not in held, bool(held), entry

    def _held(self, placed: PlacedSource) -> frozenset[str]:
        """Return the labels that a source held at its last good read, however old."""
        if placed.key not in self._remembered:
            last = self.last_reading(placed.key)
            self._remembered[placed.key] = _labels_of(last.reading) if last else frozenset()
        return self._remembered[placed.key]

    @cached_property
    def _stated(self) -> list[str]:
        """The label that catalog.toml gives to each entry; empty where a file's or folder's name fills it in."""
        labels = {placed.entry: placed.source.provider or "" for placed in self.sources}
        return [
            "" if several and "{" in (entry.provider or "") else labels[place]
            for place, (entry, several) in enumerate(zip(self.catalog.source, self._many, strict=True))
        ]

    @cached_property
    def _many(self) -> list[bool]:
        return [names_many(self.catalog, entry) for entry in self.catalog.source]

    @cached_property
    def _names(self) -> list[list[str]]:
        """What each entry, and no other, can be called."""
        names = [_names_of(source) for source in self.catalog.source]
        entries = Counter(chain.from_iterable(names))
        return [[name for name in of_entry if entries[name] == 1] for of_entry in names]

    @cached_property
    def _entry_keys(self) -> list[str]:
        return list(source_keys(self.catalog.source))


def _labels_of(reading: SourceReading) -> frozenset[str]:
    return frozenset(_compared(tool.provider) for tool in reading.tools if tool.provider)


def _compared(label: str) -> str:
    """Return a label as ids and filters compare it."""
    return id_part(label.strip().casefold())


def _program(source: SourceSettings) -> str:
    return _compared(PurePath(source.command[0]).stem) if source.command else ""


def _names_of(source: SourceSettings) -> list[str]:
    """Return what an entry can be called by its place, the shortest name first."""
    if source.path is None:
        return [(source.url and urlsplit(source.url).hostname) or name_of(source)]
    parts = list(takewhile(lambda part: not WILD.search(part), PurePath(source.path).with_suffix("").parts))
    parts = [part for part in parts if part.strip("./\\")]
    return ["-".join(parts[start:]) for start in reversed(range(len(parts)))]


def _joined_labels(names: Iterable[str], label: str) -> Iterator[str]:
    """Yield each name with the label behind it, unless the name says more of the same: `stripe-issuing`."""
    said = set(label_words(label))
    for name in names:
        words = set(label_words(name))
        if words != said:
            yield name if said < words else f"{name}-{label}"
