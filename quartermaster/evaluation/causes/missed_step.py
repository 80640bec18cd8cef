"""The steps that the first K tools leave unmet, with all that the rules look at."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from quartermaster.evaluation.causes.tool_texts import ToolText, ToolTexts
from quartermaster.evaluation.judgements import Judgement
from quartermaster.evaluation.measurement import FUSED, JudgedResult, Measurement, whole_lists
from quartermaster.evaluation.metrics import K
from router.contract import Signal
from router.retrieval.recipe import Recipe
from router.tools.text_overlap import term_set

NO_LIST = "none"  # in place of the nearest list: no list holds a tool of the step
_FAR = 10**9


@dataclass(frozen=True)
class MissedStep:
    """A step of a judged request without a tool among the first K. `place` is its position among the steps.

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
        known = [tool_id for tool_id in sorted(self.step) if self.texts.get(tool_id) is not None]
        return min(known, key=self._distance, default=None)

    def _distance(self, tool_id: str) -> tuple[int, int]:
        ranks = self._ranks_of(tool_id)
        return ranks.pop(FUSED, _FAR), min(ranks.values(), default=_FAR)

    def _ranks_of(self, tool_id: str) -> dict[str, int]:
        lists = {str(name): ranked.ids for name, ranked in self.result.lists.items()}
        return {name: ids.index(tool_id) + 1 for name, ids in lists.items() if tool_id in ids}

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

    @property
    def tool(self) -> ToolText:
        """The text of the tool. Raises KeyError for a step without a tool in the snapshot."""
        return self.text_of(self.tool_id or "")

    def text_of(self, tool_id: str) -> ToolText:
        """Return the text of a tool. Raises KeyError where the snapshot has no such tool."""
        text = self.texts.get(tool_id)
        if text is None:
            raise KeyError(tool_id)
        return text

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
        return [tool_id for tool_id in others if self.texts.get(tool_id)]


_WORDS_PER_TOKEN = 0.75  # of English prose in the vocabulary of BERT


def missed_steps(measured: Measurement) -> Iterator[MissedStep]:
    """Yield the missed steps of a measurement, request by request. Lists that it did not keep are ranked again."""
    texts = ToolTexts(measured.router)
    encoder = measured.router.manifest.encoder if measured.recipe.weights.get(Signal.DENSE) else None
    read_words = (int(_WORDS_PER_TOKEN * encoder.max_length) or sys.maxsize) if encoder else None
    for result in measured.results:
        places = missed_places(result)
        if places and list(result.lists) == [FUSED]:
            lists = whole_lists(measured.router, result.judgement.request, measured.recipe)
            result = replace(result, lists=lists)
        for place in places:
            yield MissedStep(result, place, texts, measured.recipe, read_words)


def missed_places(result: JudgedResult) -> list[int]:
    """Return the positions of the steps that the first K tools leave unmet; none for a request of kind none."""
    if result.judgement.kind == "none":
        return []
    top = set(result.lists[FUSED].ids[:K])
    return [place for place, step in enumerate(result.judgement.steps) if not step & top]
