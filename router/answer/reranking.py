"""An optional second pass: a model reads request and tool together and reorders the first candidates.

The model is that of Nogueira and Cho, *Passage Re-ranking with BERT*, 2019; Agentium's SemanticToolSelector has the
same pass (`reranker`, `rerankMultiplier`). It runs once for each candidate: on a CPU that is most of an answer's time.
"""

import importlib
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsFloat

import msgspec

from router.distribution import install_command
from router.errors import QuartermasterError, SettingsInvalid
from router.process import renew_in_child
from router.record import ToolRecord
from router.text import identifier_words

# From the request and the text of each candidate (`text_of`) to a score for each, higher is better.
Scorer = Callable[[str, Sequence[str]], Sequence[float]]

MOST_MULTIPLIER = 50
# Characters and counts. A cross-encoder's time grows with the tokens: these make 76 of a tool of catalogs/demo on
# average, and leave the description of nine in ten tools of a public registry whole.
_NAME, _DESCRIPTION, _PARAMETERS, _PARAMETER, _PHRASES, _PHRASE = 120, 300, 8, 40, 2, 80


class RerankingFailed(QuartermasterError):
    """A scorer raised, or gave no usable scores. The ranking before it still holds."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """Order the best `k × multiplier` tools of each answer by `scorer`, and keep the first k.

    Attributes:
        scorer: `cross_encoder`, or any function of a request and texts that returns a number for each text, higher is
            better. It is called once for each answer, from the thread that routes.
        multiplier: How many candidates the scorer reads for each tool of the answer, 1 to 50.

    Raises:
        SettingsInvalid: The multiplier is out of its range.
    """

    scorer: Scorer
    multiplier: int = 4

    def __post_init__(self) -> None:
        if not callable(self.scorer):
            raise SettingsInvalid(f"reranking: scorer is {self.scorer!r}, it must be a function of a request and texts")
        is_whole = isinstance(self.multiplier, int) and not isinstance(self.multiplier, bool)
        if not is_whole or not 1 <= self.multiplier <= MOST_MULTIPLIER:
            raise SettingsInvalid(
                f"reranking: multiplier is {self.multiplier!r}, it must be a whole number from 1 to {MOST_MULTIPLIER}"
            )

    def candidates(self, k: int) -> int:
        """Return how many tools the scorer reads for an answer of k."""
        return k * self.multiplier


class Reranked(msgspec.Struct, frozen=True):
    """The positions of the candidates, best first, and their scores in that order."""

    order: tuple[int, ...]
    scores: tuple[float, ...]


def rerank(scorer: Scorer, request: str, texts: Sequence[str]) -> Reranked:
    """Return the candidates with these texts, which are best first, ordered by a scorer.

    Equal scores keep the order before. Raises RerankingFailed where the scorer raises, gives another number of scores
    than texts, or a score that is not a finite number.
    """
    if not texts:
        return Reranked((), ())
    try:
        # A list of numbers, a NumPy array or a tensor.
        raw_scores = list(scorer(request, texts))
    except Exception as error:  # of a caller's own scorer
        raise RerankingFailed(f"the reranker raised {type(error).__name__}: {error}") from error
    if len(raw_scores) != len(texts):
        raise RerankingFailed(f"the reranker gave {len(raw_scores)} scores for {len(texts)} tools")
    scores = [_number(place, score) for place, score in enumerate(raw_scores)]
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return Reranked(tuple(order), tuple(scores[place] for place in order))


def text_of(record: ToolRecord, phrases: Sequence[str] = ()) -> str:
    """Return the text of a tool for a reranker: provider, name in words, description, parameters' names, a few phrases.

    It is one line of at most a thousand characters or so, whatever a vendor wrote.
    """
    name = " ".join(identifier_words(record.name)) or record.name
    parts = [_cut(f"{record.provider or ''} {name}", _NAME), _cut(record.description, _DESCRIPTION)]
    names = [parameter.path for parameter in record.parameters if "." not in parameter.path]
    if names:
        parts.append(f"Parameters: {', '.join(_cut(path, _PARAMETER) for path in names[:_PARAMETERS])}")
    if phrases:
        parts.append(f"Asked for as: {'; '.join(_cut(phrase, _PHRASE) for phrase in phrases[:_PHRASES])}")
    return ". ".join(part.rstrip(". ") for part in parts if part.strip()) + "."


def cross_encoder(
    model: str | Path,
    *,
    max_length: int | None = None,
    batch_size: int = 32,
    device: str | None = None,
    download: bool = False,
) -> Scorer:
    """Return a scorer by a sentence-transformers CrossEncoder with one label.

    `model` is a folder, or a name in the hub's cache; it is fetched only with `download`. Calls exclude one another,
    because the tokenizer is not thread-safe. Raises SettingsInvalid where sentence-transformers is not installed, or
    the model does not exist.
    """
    try:
        # By name: importing it takes seconds, which only a router with a reranker pays.
        library: Any = importlib.import_module("sentence_transformers")
    except ModuleNotFoundError as error:
        raise SettingsInvalid(
            f"a cross-encoder needs sentence-transformers: {install_command('rerank')}, or give Reranking a "
            f"function of your own ({error})"
        ) from error
    try:
        loaded = library.CrossEncoder(
            str(model), max_length=max_length, device=device, local_files_only=not download, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:  # of files, of the hub and of their content
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        where = "nor does the hub give it" if download else "nor is it in the hub's cache (download=True fetches it)"
        raise SettingsInvalid(f"the cross-encoder {str(model)!r} is not a model's folder, {where}: {reason}") from error
    labels = loaded.config.num_labels
    if labels != 1:
        raise SettingsInvalid(
            f"the cross-encoder {str(model)!r} gives {labels} labels for a pair, it must give one score"
        )
    return _CrossEncoder(loaded, batch_size)


class _CrossEncoder:
    """A scorer that several threads may call."""

    def __init__(self, model: Any, batch_size: int) -> None:
        self._model, self._batch_size = model, batch_size
        self._lock = threading.Lock()
        renew_in_child(self, "_lock")

    def __call__(self, request: str, texts: Sequence[str]) -> Sequence[float]:
        pairs = [(request, text) for text in texts]
        with self._lock:
            scores = self._model.predict(pairs, batch_size=self._batch_size, show_progress_bar=False)
        return [float(score) for score in scores]


def _number(place: int, score: object) -> float:
    """Return a score as a float. Raises RerankingFailed, with its place, for what is not a finite number."""
    # NumPy's and torch's scalars are not Python numbers, but convert; so would "0.5", which is a mistake.
    value = float(score) if isinstance(score, SupportsFloat) and not getattr(score, "ndim", 0) else math.nan
    if not math.isfinite(value):
        raise RerankingFailed(f"the reranker gave {score!r} for candidate {place}, it must be a finite number")
    return value


def _cut(text: str, most: int) -> str:
    """Return a text on one line, cut after a word."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0]
