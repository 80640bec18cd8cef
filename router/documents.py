"""The texts that stand for a tool in its lists: what a build indexes, and a router for a tool that it is given later.

Records are given as `router.trust.trusted` leaves them. Raise `pipeline.documents.PROJECTION_VERSION` with any change.
"""

from collections.abc import Iterable

from router.record import Parameter, ToolRecord

# The heaviest real description seen has 13,865 characters; a catalog of megabytes must not slow every build.
_MAX_TEXT = 20_000
# An encoder cuts a text at its length (256 tokens for MiniLM): a long description would push the phrases out. nDCG@10
# of the dense list with and without the cut: .917 / .912 on Azure's MCP tools, equal where descriptions are short.
_MAX_DENSE_DESCRIPTION = 500


def name_document(record: ToolRecord) -> str:
    """What the name list reads: name, provider, categories."""
    return joined(record.name, record.provider, *record.categories)


def description_document(record: ToolRecord) -> str:
    """What the description list reads: description, parameters, examples."""
    return joined(record.description, *_schema_texts(record.parameters), *record.examples)


def dense_document(record: ToolRecord, phrases: Iterable[str] = (), synonyms: Iterable[str] = ()) -> str:
    """Prose, the surest first: an encoder reads sentences better than fields, and cuts what is past its length."""
    name = f"{record.provider}: {record.name}" if record.provider else record.name
    sentences = [name, record.description[:_MAX_DENSE_DESCRIPTION]]
    if record.categories:
        sentences.append(f"Categories: {', '.join(record.categories)}")
    return joined(*sentences, *phrases, ", ".join(synonyms), separator=". ")


def joined(*texts: str | None, separator: str = "\n") -> str:
    """One text of several, the empty ones left out, cut where no document is longer."""
    return separator.join(text for text in texts if text)[:_MAX_TEXT]


def _schema_texts(parameters: Iterable[Parameter]) -> Iterable[str]:
    """Names, descriptions and enum values, each once: nested schemas repeat themselves."""
    texts: dict[str, None] = {}
    for parameter in parameters:
        texts[parameter.path.rsplit(".", 1)[-1].removesuffix("[]")] = None
        texts[parameter.description] = None
        texts.update(dict.fromkeys(parameter.enum))
    return texts
