"""The steps that the first K tools leave unmet, with all that the rules look at."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import dropwhile

from quartermaster.evaluation.judgements import Judgement
from quartermaster.evaluation.measurement import FUSED, JudgedResult, Measurement, whole_lists
from quartermaster.evaluation.metrics import K
from router.contract import Signal
from router.record import ToolRecord
from router.retrieval.recipe import Recipe
from router.router import Router
from router.text import identifier_words
from router.tools.field_text import description_document, name_document
from router.tools.naming import parse_operation
from router.tools.text_overlap import label_words, term_set
from router.tools.trust.sanitization import sanitize

NO_LIST = "none"  # in place of the nearest list: no list holds a tool of the step
_FAR = 10**9
_MIN_SIMILARITY = 0.8  # Jaccard of near-duplicates, as in docs/decisions/phrase-checks.md
_WORDS_PER_TOKEN = 0.75  # of English prose in the vocabulary of BERT


@dataclass(frozen=True)
class ToolText:
    """A tool's record without prompt injections, and its phrases."""

    record: ToolRecord
    phrases: tuple[str, ...]

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of all that the lexical lists read of the tool."""
        texts = (name_document(self.record), description_document(self.record), *self.phrases)
        return term_set("\n".join(texts))

    @cached_property
    def name_terms(self) -> frozenset[str]:
        """The terms of the words of the tool's name."""
        return term_set(" ".join(identifier_words(self.record.name)))

    @cached_property
    def description_terms(self) -> frozenset[str]:
        """The terms of the tool's description."""
        return term_set(self.record.description)

    @cached_property
    def object_terms(self) -> frozenset[str]:
        """The terms of the nouns of the tool's name but for its provider's: `issue` of `github_create_issue`."""
        label, words = set(label_words(self.record.provider)), identifier_words(self.record.name)
        own = list(dropwhile(label.__contains__, words))
        record = replace(self.record, name="_".join(own)) if own and own != words else self.record
        return term_set(" ".join(parse_operation(record).noun_phrase.nouns))

    def is_near_duplicate(self, other: "ToolText") -> bool:
        """Return whether both names and both descriptions are nearly equal; empty descriptions count as equal."""
        return _similar(self.name_terms, other.name_terms) and (
            _similar(self.description_terms, other.description_terms)
            or not (self.record.description or other.record.description)
        )

    def has_same_object(self, other: "ToolText") -> bool:
        """Return whether both names have the same object: `create_issue` and `list_issues`."""
        return bool(self.object_terms) and self.object_terms == other.object_terms


def _similar(first: frozenset[str], second: frozenset[str]) -> bool:
    return bool(first) and len(first & second) >= _MIN_SIMILARITY * len(first | second)


class ToolTexts(dict[str, ToolText]):
    """The texts of a router's tools by id, each read when a rule first looks at it. KeyError for an unknown tool."""

    def __init__(self, router: Router) -> None:
        self.router = router

    def __missing__(self, tool_id: str) -> ToolText:
        record = self.router.record(tool_id)
        if record is None:
            raise KeyError(tool_id)
        self[tool_id] = text = ToolText(sanitize(record)[0], self.router.phrases(tool_id))
        return text


@dataclass(frozen=True)
class MissedStep:
    """A step of a judgement without a tool among the first K. `place` is its position among the steps.

    `read_words` is about how many words of a text the encoder reads, a great number where its maximum length is
    unknown; None without a dense list.
    """

    result: JudgedResult
    place: int
    texts: ToolTexts
    recipe: Recipe
    read_words: int | None

    @property
    def judgement(self) -> Judgement:
        """The request and its right tools."""
        return self.result.judgement

    @property
    def step(self) -> frozenset[str]:
        """The tools of which any one would meet the step."""
        return self.judgement.steps[self.place]

    @cached_property
    def answer(self) -> tuple[str, ...]:
        """The first K tools."""
        return self.result.lists[FUSED].ids[:K]

    @cached_property
    def wrong(self) -> tuple[str, ...]:
        """The tools of the answer that no step and no judge accepts, best first."""
        return tuple(tool_id for tool_id in self.answer if tool_id not in self.judgement.tools)

    @cached_property
    def tool_id(self) -> str | None:
        """The tool of the step that came nearest, which the rules look at; None where the snapshot has none."""

        def distance(tool_id: str) -> tuple[int, int]:
            ranks = self._ranks_of(tool_id)
            return ranks.pop(FUSED, _FAR), min(ranks.values(), default=_FAR)

        return min(filter(self.texts.router.record, sorted(self.step)), key=distance, default=None)

    def _ranks_of(self, tool_id: str) -> dict[str, int]:
        lists = self.result.lists.items()
        return {name: ranked.ids.index(tool_id) + 1 for name, ranked in lists if tool_id in ranked.ids}

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The tool's rank by list, without the lists that lack it; the fused list is one of them."""
        return self._ranks_of(self.tool_id) if self.tool_id else {}

    @cached_property
    def nearest(self) -> str:
        """The list that ranks the tool best, the first of those that tie; NO_LIST where none holds it."""
        return min((name for name in self.ranks if name != FUSED), key=self.ranks.__getitem__, default=NO_LIST)

    @property
    def best_rank(self) -> int | None:
        """The tool's rank in the nearest list."""
        return self.ranks.get(self.nearest)

    def is_within(self, rank: int) -> bool:
        """Return whether some list has the tool among so many first."""
        return self.best_rank is not None and self.best_rank <= rank

    @property
    def tool(self) -> ToolText:
        """The text of the tool. Raises KeyError for a step without a tool in the snapshot."""
        return self.texts[self.tool_id or ""]

    @cached_property
    def request_terms(self) -> frozenset[str]:
        """The terms of the request."""
        return term_set(self.judgement.request)

    @cached_property
    def shared_terms(self) -> frozenset[str]:
        """The terms that the request and the tool's texts have in common."""
        return self.request_terms & self.tool.terms

    @cached_property
    def other_tools(self) -> Sequence[str]:
        """The tools of the request's other steps that the snapshot has, in the order of the steps."""
        steps = (step for place, step in enumerate(self.judgement.steps) if place != self.place)
        others = dict.fromkeys(tool_id for step in steps for tool_id in sorted(step - self.step))
        return list(filter(self.texts.router.record, others))


def missed_steps(measured: Measurement) -> Iterator[MissedStep]:
    """Yield the missed steps of a measurement, request by request. Lists that it did not keep are ranked again."""
    texts = ToolTexts(measured.router)
    encoder = measured.router.manifest.encoder if measured.recipe.weights.get(Signal.DENSE) else None
    read_words = (int(_WORDS_PER_TOKEN * encoder.max_length) or sys.maxsize) if encoder else None
    for result in measured.results:
        places = missed_places(result)
        if places and list(result.lists) == [FUSED]:
            asked = result.judgement
            lists = whole_lists(measured.router, asked.request, measured.recipe, needs=asked.needs)
            result = replace(result, lists=lists)
        for place in places:
            yield MissedStep(result, place, texts, measured.recipe, read_words)


def missed_places(result: JudgedResult) -> list[int]:
    """Return the positions of the steps that the first K tools leave unmet; none for a request of kind none."""
    if result.judgement.kind == "none":
        return []
    top = set(result.lists[FUSED].ids[:K])
    return [place for place, step in enumerate(result.judgement.steps) if not step & top]
