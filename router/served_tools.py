"""The tools that a router serves, read by id: records, phrases, providers, tokens, and what changed."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from router.answer.explanation import ToolNeed, needed_by, needs_of
from router.answer.results import NeededBy
from router.contract import Manifest
from router.provider_formats.formats import Detail, ProviderFormat, VendorText
from router.record import Kind, ToolRecord
from router.snapshot.current import LiveSnapshot
from router.snapshot.record_store import RecordSequence

if TYPE_CHECKING:
    from router.tools.trust.trusted import TrustedRecord


class ServedTools:
    """The methods of `Router` that read its tools. Each reads the snapshot that serves when it is called."""

    def __init__(self, live: LiveSnapshot, vendor_text: VendorText = VendorText.TRUSTED) -> None:
        self._live = live
        self._vendor_text = vendor_text

    @property
    def vendor_text(self) -> VendorText:
        """Return which text of its tools this router hands to a model."""
        return self._vendor_text

    def handed(self, record: ToolRecord) -> "TrustedRecord":
        """Return a record as this router hands it to a model, and what was withheld of it."""
        from router.provider_formats.shaping import handed_record

        return handed_record(record, self._vendor_text)

    @property
    def manifest(self) -> Manifest:
        """Return the manifest of the snapshot that serves now."""
        return self._live.snapshot.manifest

    @property
    def tools(self) -> RecordSequence:
        """Return the records of all tools by id, each read when it is looked at."""
        return RecordSequence(self._live.snapshot.records)

    def __len__(self) -> int:
        """Return how many tools there are."""
        return len(self.tools)

    def record(self, tool_id: str) -> ToolRecord | None:
        """Return the record of a tool id, without what only builds and calls read; None if unknown."""
        records = self._live.snapshot.records
        ordinal = records.ordinal(tool_id)
        return None if ordinal is None else records.entry(ordinal).record

    def complete_record(self, tool_id: str) -> ToolRecord | None:
        """Return the record of a tool id with what answers leave out: outputs, links, operation, instructions.

        None if unknown.
        """
        records = self._live.snapshot.records
        ordinal = records.ordinal(tool_id)
        return None if ordinal is None else records.complete_record(ordinal)

    def instructions(self, tool_id: str) -> str:
        """Return what a model reads of a skill once it has chosen it; empty for a tool, a prompt and an unknown id.

        A skill without instructions is answered with its description. There are no hidden characters, and nothing else
        is withheld: instructions are what a skill is for.
        """
        from router.tools.trust.characters import strip_hidden

        record = self.complete_record(tool_id)
        if record is None or record.kind is not Kind.SKILL:
            return ""
        return strip_hidden(record.instructions or record.description)

    def phrases(self, tool_id: str) -> tuple[str, ...]:
        """Return the phrases of a tool, in English, when to use it last; none for an unknown tool."""
        records = self._live.snapshot.records
        ordinal = records.ordinal(tool_id)
        return () if ordinal is None else records.entry(ordinal).phrases

    def prerequisites(self, tool_id: str) -> tuple[ToolNeed, ...]:
        """Return what a tool needs that people do not say, and which tools find it; none for an unknown tool.

        Tools that were registered since the build need nothing here: only a build looks for it.
        """
        snapshot = self._live.snapshot
        ordinal = snapshot.records.ordinal(tool_id)
        return () if ordinal is None else needs_of(snapshot, ordinal)

    def needed_by(self, tool_id: str) -> tuple[NeededBy, ...]:
        """Return the tools that need a tool to run first, by id and parameter; none for an unknown tool."""
        snapshot = self._live.snapshot
        ordinal = snapshot.records.ordinal(tool_id)
        return () if ordinal is None else needed_by(snapshot, ordinal)

    @property
    def providers(self) -> Mapping[str | None, int]:
        """Return how many tools each provider has, most first; None stands for tools without a provider."""
        records = self._live.snapshot.records
        rows = records.facets.rows
        counts = Counter(rows[ordinal].provider for ordinal in records.by_id().tolist())
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0] or "")))

    def tokens(self, tool_id: str) -> Mapping[str, Mapping[str, int]] | None:
        """Return the tokens of a tool by form and detail; None if unknown.

        They are counted by the build (`manifest.token_counter` says how), and estimated for tools registered since and
        for forms that the build did not know.
        """
        snapshot = self._live.snapshot
        ordinal = snapshot.records.ordinal(tool_id)
        if ordinal is None:
            return None
        details = [str(detail) for detail in Detail]
        counts = {form: snapshot.tokens.of(form, [ordinal], self._vendor_text)[0].tolist() for form in ProviderFormat}
        return {str(form): dict(zip(details, row, strict=True)) for form, row in counts.items()}

    def tool_id_of(self, name: str) -> str | None:
        """Return the id of the tool that any answer renders under this name; None if unknown.

        Most names can be decoded; for one that ends in a hash the ids of all tools are read, once for each snapshot and
        overlay: .3 s for 10,000.
        """
        from router.provider_formats.names import id_of

        records = self._live.snapshot.records
        return id_of(name, lambda tool_id: records.ordinal(tool_id) is not None, lambda: records.facets.hashed_names)

    def tool_id(self, ordinal: int) -> str:
        """Return the tool id of an ordinal of `lists`."""
        return self._live.snapshot.records.tool_id(ordinal)
