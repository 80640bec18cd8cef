"""Phrases that a person wrote beside a catalog: they stand before a generator's, and no check drops them."""

from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline.enrichment.context import (
    PERSON,
    UNACCEPTED,
    Consequence,
    Enrichment,
    ScreenedExpansion,
    Screening,
    TextVerdict,
)
from pipeline.errors import RecordRejected
from pipeline.records import Catalog
from pipeline.sentences import counted
from pipeline.settings import CatalogSettings
from pipeline.settings.files import CATALOG_FILE, EXPANSIONS_FILE, PHRASES_FILE
from pipeline.sources.formats.document import read_lines
from router.errors import SettingsInvalid
from router.expansion import Expansion
from router.record import ToolRecord
from router.snapshot.phrases import cleaned_phrases
from router.tools.text_overlap import find_near_duplicates

_EMPTY = Expansion("", ())


@dataclass(frozen=True, slots=True)
class HandPhrases:
    """The phrases of a catalog's file, by tool id and by who wrote them: PERSON for those that were accepted here.

    A catalog may come from elsewhere with such a file: what nobody accepted is UNACCEPTED, and checked as a model's.
    """

    by_source: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=lambda: {PERSON: {}, UNACCEPTED: {}})
    rejected: tuple[RecordRejected, ...] = field(default=())

    @classmethod
    def read(cls, folder: Path, accepted: Set[tuple[str, str]], catalog: Catalog) -> "HandPhrases":
        """Read the file beside a catalog; `accepted` are ids with phrases. Raises RunAborted where it is no text."""
        path, rejected = folder / PHRASES_FILE, list[RecordRejected]()
        known = {(catalog.former_ids.get(written, written), phrase) for written, phrase in accepted}
        by_source: dict[str, dict[str, tuple[str, ...]]] = {PERSON: {}, UNACCEPTED: {}}
        for line in read_lines(path) if path.is_file() else ():
            if isinstance(line, RecordRejected):
                rejected.append(line)
                continue
            origin, row = line
            try:
                written, phrases = str(row["id"]), cleaned_phrases(row["id"], row["phrases"])
            except (KeyError, TypeError, SettingsInvalid) as error:
                why = f"a line is an object with the id of a tool and a list of its phrases ({error})"
                rejected.append(RecordRejected(origin, why))
                continue
            tool_id = catalog.former_ids.get(written, written)
            if tool_id not in catalog.hashes:
                rejected.append(RecordRejected(origin, f"the catalog does not have the tool {written!r}"))
                continue
            for phrase in phrases:
                of_tools = by_source[PERSON if (tool_id, phrase) in known else UNACCEPTED]
                of_tools[tool_id] = tuple(dict.fromkeys((*of_tools.get(tool_id, ()), phrase)))
        return cls(by_source, tuple(rejected))

    def add(self, source: str, into: Enrichment, records: Collection[ToolRecord], screen: Screening) -> None:
        """Put phrases beside what is written: a person's first, whatever the checks say, others last, if they pass.

        Phrases that stand there already are left as they are. What near-repeats the earlier ones is dropped.
        """
        for record in records:
            by = into.written.get(record.tool_id) or ScreenedExpansion(_EMPTY, source, PHRASES_FILE, "", _EMPTY)
            texts = [text for text in self.by_source[source].get(record.tool_id, ()) if text not in by.sources]
            if not texts:
                continue
            passed, verdicts = screen(record, Expansion("", tuple(texts)))
            own = by.expansion.user_phrases
            if source == PERSON:
                verdicts = tuple(replace(verdict, consequence=Consequence.NOTED) for verdict in verdicts)
                merged, kept = (*texts, *own), len(texts)
            else:
                merged, kept = (*own, *passed.user_phrases), len(own)
            repeats = {place: of for place, of in find_near_duplicates(merged).items() if place >= kept}
            verdicts += tuple(
                TextVerdict(record.tool_id, "user_phrases", merged[place], "repeat", Consequence.DROPPED, merged[of])
                for place, of in repeats.items()
                if merged[place] != merged[of]
            )
            phrases = tuple(text for place, text in enumerate(merged) if place not in repeats)
            if not phrases:
                into.refused[record.tool_id] = (*into.refused.get(record.tool_id, ()), *verdicts)
                continue
            into.written[record.tool_id] = replace(
                by,
                expansion=replace(by.expansion, user_phrases=phrases),
                verdicts=(*by.verdicts, *verdicts),
                sources={**by.sources, **dict.fromkeys(texts, source)},
            )


def by_hand_notes(settings: CatalogSettings, phrases: HandPhrases) -> Iterator[str]:
    """Yield what to say of files of phrases: a file that is not read, phrases that nobody accepted here."""
    expansions = settings.folder / EXPANSIONS_FILE
    if settings.enrichment.expansions is None and (settings.folder / CATALOG_FILE).is_file() and expansions.is_file():
        yield (
            f'{expansions} is not read: set expansions = "{EXPANSIONS_FILE}" under [enrichment] in {CATALOG_FILE}, '
            "or add its phrases with `quartermaster phrases add`"
        )
    if count := sum(map(len, phrases.by_source[UNACCEPTED].values())):
        yield (
            f"{settings.folder / PHRASES_FILE}: {counted(count, 'phrase')} that nobody accepted here, so they are "
            "checked as a model's: look at them with `quartermaster phrases check`, and accept them with --accept"
        )
