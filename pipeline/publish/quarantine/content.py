"""Which tools of a build are new or changed: by the hash of the record and of the texts that a tool is found by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.inspection.served_tools import ServedTexts
from router.fingerprint import fingerprint
from router.tools.field_text import FieldDocuments

# Of the serving tools. Where more are written anew while their records stay, the model, the prompt or the checks have
# changed, and not the tools.
_MOST_REWRITTEN = 0.2
_FEWEST_REWRITTEN = 3  # tools: one of a small catalog is a large share


@dataclass(frozen=True, slots=True)
class ChangedTools:
    """The content hashes, by id, of new tools and of changed ones.

    `rewritten` counts the tools that have the record that serves and other texts, where they are too many to be tried;
    0 where they are among the changed.
    """

    new: Mapping[str, str]
    changed: Mapping[str, str]
    rewritten: int = 0

    @property
    def hashes(self) -> dict[str, str]:
        """Return all content hashes by id, sorted."""
        return dict(sorted({**self.new, **self.changed}.items()))


def content_hash(record_hash: str, document: FieldDocuments) -> str:
    """Return the hash of a tool's record and of the texts that it is found by."""
    return fingerprint([record_hash, document.name, document.description, document.expansion, document.dense])


def changed_tools(
    hashes: Mapping[str, str], documents: Sequence[FieldDocuments], served: Mapping[str, ServedTexts]
) -> ChangedTools:
    """Compare a build's tools with those that serve. `hashes` are those of the build's records, by id."""
    new, changed, rewritten = {}, {}, {}
    for document in documents:
        tool_id = document.tool_id
        before = served.get(tool_id)
        texts = (document.name, document.description, document.expansion, document.dense)
        if before == ServedTexts(hashes[tool_id], texts):
            continue
        content = content_hash(hashes[tool_id], document)
        if before is None:
            new[tool_id] = content
        elif before.record_hash != hashes[tool_id]:
            changed[tool_id] = content
        else:
            rewritten[tool_id] = content
    if len(rewritten) > max(_FEWEST_REWRITTEN, _MOST_REWRITTEN * len(served)):
        return ChangedTools(new, changed, len(rewritten))
    return ChangedTools(new, {**changed, **rewritten})
