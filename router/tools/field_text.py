"""The texts that stand for a tool in each ranking: what a build indexes, and a router for tools it is given later."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from router.contract import Signal
from router.expansion import Expansion
from router.record import Parameter, ToolRecord
from router.tools.provider_labels import short_label
from router.tools.trust import sanitize

__all__ = [
    "PROJECTION_VERSION",
    "FieldDocuments",
    "dense_document",
    "description_document",
    "join_texts",
    "name_document",
    "project_record",
]

# In the content hash of every snapshot: raise it with any change to the texts below. (Vectors are kept by their text.)
PROJECTION_VERSION = 3
# The heaviest real description seen has 13,865 characters; a catalog of megabytes must not slow every build.
_MAX_TEXT = 20_000
# An encoder cuts a text at its length (256 tokens for MiniLM): a long description would push the phrases out. nDCG@10
# of the dense list with and without the cut: .917 / .912 on Azure's MCP tools, equal where descriptions are short.
_MAX_DENSE_DESCRIPTION = 500


def name_document(record: ToolRecord) -> str:
    """What the name list reads: name, provider, categories."""
    return join_texts(record.name, record.provider, *record.categories)


def description_document(record: ToolRecord) -> str:
    """What the description list reads: description, parameters, examples."""
    return join_texts(record.description, *_schema_texts(record.parameters), *record.examples)


def dense_document(record: ToolRecord, phrases: Iterable[str] = (), synonyms: Iterable[str] = ()) -> str:
    """Prose, the surest first: an encoder reads sentences better than fields, and cuts what is past its length.

    A long label is cut to its first words: repeated before every tool, it would be most of what a short text says.
    """
    label = short_label(record.provider)
    name = f"{label}: {record.name}" if label else record.name
    sentences = [name, record.description[:_MAX_DENSE_DESCRIPTION]]
    if record.categories:
        sentences.append(f"Categories: {', '.join(record.categories)}")
    return join_texts(*sentences, *phrases, ", ".join(synonyms), separator=". ")


def join_texts(*texts: str | None, separator: str = "\n") -> str:
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


@dataclass(frozen=True, slots=True)
class FieldDocuments:
    """What each signal reads of one tool. `phrases` have a vector each, beside the dense document's.

    The sentence of when to use a tool counts as its last phrase: nDCG@10 of the best phrase alone .900 with it, .874
    without on Azure's MCP tools, .675 and .669 on UltraTool, .690 and .686 on MetaTool.

    `translations` are phrases by language: the expansion's index reads them, the encoder does not. With vectors of the
    English-centred all-MiniLM-L6-v2 for them too, hit@1 of the dense list rises from .15 to .50 in German, .30 to .50
    in Spanish and .10 to .20 in Japanese, still far below the index's .90, .85 and .85, for a multiple of the vectors.
    """

    tool_id: str
    name: str
    description: str
    expansion: str
    dense: str
    phrases: tuple[str, ...]
    translations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def text(self, signal: Signal) -> str:
        """The document of a signal, one of DOCUMENT_SIGNALS."""
        return {
            Signal.NAME: self.name,
            Signal.DESCRIPTION: self.description,
            Signal.EXPANSION: self.expansion,
            Signal.DENSE: self.dense,
        }[signal]

    def translation(self, language: str) -> str:
        """The expansion's document in a language other than English."""
        return join_texts(*self.translations.get(language, ()))


def project_record(record: ToolRecord, expansion: Expansion | None, languages: Collection[str] = ()) -> FieldDocuments:
    """The field documents of one tool; without expansion its expansion document is empty.

    Of the expansion's translations, those in `languages` are taken. Sentences of the record that speak to the model,
    promote the tool over others or speak ill of them stand in no document.
    """
    record, _ = sanitize(record)
    return FieldDocuments(
        record.tool_id,
        name=name_document(record),
        description=description_document(record),
        expansion=_expansion(expansion),
        dense=_dense(record, expansion),
        phrases=_phrases(expansion),
        translations={code: texts for code, texts in expansion.translations.items() if code in languages}
        if expansion
        else {},
    )


def _dense(record: ToolRecord, expansion: Expansion | None) -> str:
    return dense_document(record, *((expansion.user_phrases, expansion.synonyms) if expansion else ()))


def _phrases(expansion: Expansion | None) -> tuple[str, ...]:
    if expansion is None:
        return ()
    return tuple(dict.fromkeys(phrase for phrase in (*expansion.user_phrases, expansion.when_to_use) if phrase))


def _expansion(expansion: Expansion | None) -> str:
    if expansion is None:
        return ""
    return join_texts(
        expansion.when_to_use,
        *expansion.user_phrases,
        *expansion.synonyms,
        *expansion.related_concepts,
        *expansion.task_categories,
    )
