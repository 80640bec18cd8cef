"""Phrases that a person wrote beside a catalog: they stand before a generator's, and no check drops them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline.enrichment.context import PERSON, Consequence, Enrichment, ScreenedExpansion, Screening, TextVerdict
from pipeline.errors import RecordRejected
from pipeline.records import Catalog
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
    """The phrases of a catalog's file, by tool id, and the lines of it that cannot be used."""

    phrases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rejected: tuple[RecordRejected, ...] = ()

    @classmethod
    def read(cls, folder: Path, catalog: Catalog) -> "HandPhrases":
        """Read the file beside a catalog. Raises RunAborted where it is no text."""
        path, rejected = folder / PHRASES_FILE, list[RecordRejected]()
        found: dict[str, tuple[str, ...]] = {}
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
            if tool_id in catalog.hashes:
                found[tool_id] = tuple(dict.fromkeys((*found.get(tool_id, ()), *phrases)))
            else:
                rejected.append(RecordRejected(origin, f"the catalog does not have the tool {written!r}"))
        return cls(found, tuple(rejected))

    def add(self, into: Enrichment, records: Iterable[ToolRecord], screen: Screening) -> None:
        """Put phrases before what is written, whatever the checks say; drop what near-repeats them."""
        for record in records:
            if not (texts := self.phrases.get(record.tool_id)):
                continue
            by = into.written.get(record.tool_id) or ScreenedExpansion(_EMPTY, PERSON, PHRASES_FILE, "", _EMPTY)
            _, verdicts = screen(record, Expansion("", texts))
            merged = (*texts, *by.expansion.user_phrases)
            repeats = {place: of for place, of in find_near_duplicates(merged).items() if place >= len(texts)}
            dropped = (
                TextVerdict(record.tool_id, "user_phrases", merged[place], "repeat", Consequence.DROPPED, merged[of])
                for place, of in repeats.items()
                if merged[place] != merged[of]
            )
            phrases = tuple(text for place, text in enumerate(merged) if place not in repeats)
            into.written[record.tool_id] = replace(
                by,
                expansion=replace(by.expansion, user_phrases=phrases),
                verdicts=(*by.verdicts, *(replace(v, consequence=Consequence.NOTED) for v in verdicts), *dropped),
                by_person=texts,
            )


def unread_expansions(settings: CatalogSettings) -> Iterator[str]:
    """Yield what to say of a file of expansions that the settings do not name."""
    expansions = settings.folder / EXPANSIONS_FILE
    if settings.enrichment.expansions is None and (settings.folder / CATALOG_FILE).is_file() and expansions.is_file():
        yield (
            f'{expansions} is not read: set expansions = "{EXPANSIONS_FILE}" under [enrichment] in {CATALOG_FILE}, '
            "or add its phrases with `quartermaster phrases add`"
        )
