"""The documents of a tool: the text that each signal reads, for the build and for tools added at run time."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from router.contract import Signal
from router.expansion import Expansion
from router.record import Parameter, ToolRecord
from router.tools.naming import EverydayWords, everyday_words
from router.tools.text_overlap import short_label
from router.tools.trust.sanitization import sanitize
from router.tools.word_forms import tool_language, word_forms

# Part of every snapshot's content hash: raise it with any change to the texts below or to the lexicon. (Vectors are
# cached by text.)
PROJECTION_VERSION = 8
# The longest real description seen has 13,865 characters; descriptions of megabytes must not slow every build.
_MAX_TEXT = 20_000
# A long description would push the phrases past the encoder's limit. See docs/decisions/vectors.md.
_MAX_DENSE_DESCRIPTION = 500


def name_document(record: ToolRecord) -> str:
    """Return the document of the name signal: name, provider, categories."""
    return join_texts(record.name, record.provider, *record.categories)


def description_document(record: ToolRecord) -> str:
    """Return the document of the description signal: description, parameters, examples."""
    return join_texts(record.description, *_schema_texts(record.parameters), *record.examples)


def dense_document(record: ToolRecord, phrases: Iterable[str] = (), synonyms: Iterable[str] = ()) -> str:
    """Return the document of the dense signal: sentences, the most reliable first, as encoders cut long texts.

    A long provider label is shortened: it would dominate short texts.
    """
    label = short_label(record.provider)
    sentences = [f"{label}: {record.name}" if label else record.name, record.description[:_MAX_DENSE_DESCRIPTION]]
    categories = f"Categories: {', '.join(record.categories)}" if record.categories else ""
    return join_texts(*sentences, categories, *phrases, ", ".join(synonyms), separator=". ")


def join_texts(*texts: str | None, separator: str = "\n") -> str:
    """Join texts, without empty ones, and cut the result at the maximum length of a document."""
    return separator.join(text for text in texts if text)[:_MAX_TEXT]


def _schema_texts(parameters: Iterable[Parameter]) -> Iterable[str]:
    """Return names, descriptions and enum values of parameters, each once: nested schemas repeat themselves."""
    texts: dict[str, None] = {}
    for parameter in parameters:
        texts[parameter.path.rsplit(".", 1)[-1].removesuffix("[]")] = None
        texts[parameter.description] = None
        texts.update(dict.fromkeys(parameter.enum))
    return texts


@dataclass(frozen=True, slots=True)
class FieldDocuments:
    """The documents of one tool, by signal. Each of `phrases` has a vector, beside the dense document's.

    The sentence of when to use a tool is its last phrase. `translations` are phrases by language, which the expansion's
    index reads and the encoder does not: see docs/decisions/vectors.md. `language` is the tool's own, empty for
    English.
    """

    tool_id: str
    name: str
    description: str
    expansion: str
    dense: str
    phrases: tuple[str, ...]
    translations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    language: str = ""

    def text(self, signal: Signal) -> str:
        """Return the document of a signal, one of DOCUMENT_SIGNALS: the field of its name."""
        return str(getattr(self, signal))

    def translation(self, language: str) -> str:
        """Return the expansion's document in a language other than English; empty where it has none."""
        return join_texts(*self.translations.get(language, ()))


def record_document(record: ToolRecord) -> str:
    """Return the dense document of a record's own text alone, without the remarks that steer."""
    return dense_document(sanitize(record)[0])


def project_record(
    record: ToolRecord, expansion: Expansion | None, languages: Collection[str] = (), *, lexicon: bool = False
) -> FieldDocuments:
    """Return the documents of one tool.

    Without an expansion, the expansion document is empty, and the lexicon's words stand in those of description and
    dense; with `lexicon` they stand there in any case. `languages` selects the translations. Steering text in the
    record is removed first: see `router.tools.trust`. The lexical documents of a tool in another language end with the
    forms of their words.
    """
    # See docs/decisions/fusion.md.
    record, _ = sanitize(record)
    words = everyday_words(record) if expansion is None or lexicon else EverydayWords(())
    written = expansion or Expansion("", ())
    language = tool_language(join_texts(record.description, *(one.description for one in record.parameters)))

    def with_forms(text: str) -> str:
        return join_texts(text, word_forms(text, language)) if language else text

    phrases = (phrase for phrase in (*written.user_phrases, written.when_to_use) if phrase)
    return FieldDocuments(
        record.tool_id,
        name=with_forms(name_document(record)),
        description=with_forms(join_texts(description_document(record), *words.requests, *words.synonyms)),
        expansion=with_forms(
            join_texts(
                written.when_to_use,
                *written.user_phrases,
                *written.synonyms,
                *written.related_concepts,
                *written.task_categories,
            )
        ),
        dense=dense_document(record, (*written.user_phrases, *words.requests), written.synonyms),
        phrases=tuple(dict.fromkeys(phrases)),
        translations={code: texts for code, texts in written.translations.items() if code in languages},
        language=language,
    )


def tool_languages(documents: Iterable[FieldDocuments]) -> tuple[str, ...]:
    """Return the languages of the tools that are not in English, the most frequent first."""
    counts = Counter(document.language for document in documents if document.language)
    return tuple(sorted(counts, key=lambda language: (-counts[language], language)))
