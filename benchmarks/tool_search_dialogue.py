"""Measure what a dialogue of twenty turns costs by the way in which a model gets its tools:
`python -m benchmarks.tool_search_dialogue SNAPSHOT --judged FOLDER`.

Dialogues are drawn from a folder's judged requests. No provider is asked. The model is simulated, and knows which tools
a turn needs: if one is not at hand and it can search, it searches with the user's words, then once more without names
and numbers, then gives up. It calls what it needs and has, and answers. Hosted searches are stand-ins
(`benchmarks.support.hosted_search`).

    tokens       of all prompts of a dialogue
    cached       of those, what the cache has: the longest prefix of earlier prompts, from 1,024 tokens in steps of 128
    paid         tokens, where a cached one costs a tenth
    requests     to the provider; a hosted search takes none of its own
    at_hand      share of the turns in which every needed tool was at hand
    paid_a_turn  paid tokens for each such turn
    search_ms    of the processor in a turn, that the router takes to search, on average
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Protocol

from benchmarks.support.dialogues import CACHED, TURNS, common, drawn
from benchmarks.support.hosted_search import Bm25Search, RegexSearch
from benchmarks.support.measuring import about, arguments, report
from pipeline.tokens import TokenCounter
from quartermaster.adapters.openai_items import hosted_tools
from quartermaster.adapters.openai_responses import ResponsesToolSearch
from quartermaster.evaluation import Judgement
from router import Router, StableSelection, ToolRecord
from router.provider_formats.formats import Detail, ProviderFormat
from router.provider_formats.rendering import render

DIALOGUES, K, MESSAGES = 12, 8, 3
CACHE_LEAST, CACHE_STEP = 1_024, 128
REMEMBERED = 8  # the latest prompts of a dialogue that the cache has
Count = Callable[[str], int]
HOSTED_SEARCH = {"type": "tool_search_tool", "name": "tool_search_tool"}


class Way(Protocol):
    """How a model gets its tools in one dialogue."""

    hosted: bool  # whether the provider searches, within the request

    @property
    def tools(self) -> Sequence[Any]:
        """The tools of a request, which stand at its beginning."""

    def begin(self, messages: Sequence[str]) -> set[str]:
        """Begin a turn; return the ids of the tools at hand."""

    def search(self, words: str, items: list[Any]) -> set[str] | None:
        """Search, and add the answer to the dialogue; return the tools at hand, or None where there is no search."""

    def called(self, tool_id: str) -> None:
        """Hear that the model called a tool."""


class InPrompt:
    """Tools stand in the prompt: all of them, the best afresh each turn, or a stable selection."""

    hosted = False

    def __init__(self, choose: Callable[[Sequence[str]], Sequence[ToolRecord]], called: Callable[[str], None]) -> None:
        self._choose, self.called = choose, called
        self._records: Sequence[ToolRecord] = ()

    @property
    def tools(self) -> Sequence[Any]:
        return render(self._records, ProviderFormat.RESPONSES, cap=None).tools

    def begin(self, messages: Sequence[str]) -> set[str]:
        self._records = self._choose(messages)
        return {record.tool_id for record in self._records}

    def search(self, words: str, items: list[Any]) -> set[str] | None:
        return None


class Hosted:
    """The provider searches. `tools` is what the model sees before it does."""

    hosted = True

    def __init__(self, tools: Sequence[Any], find: Callable[[str], Sequence[ToolRecord]]) -> None:
        self.tools, self._find = tools, find
        self._loaded: set[str] = set()

    def begin(self, messages: Sequence[str]) -> set[str]:
        return self._loaded

    def search(self, words: str, items: list[Any]) -> set[str] | None:
        new = [record for record in self._find(words) if record.tool_id not in self._loaded]
        self._loaded |= {record.tool_id for record in new}
        items.append({"type": "tool_search_output", "tools": render(new, ProviderFormat.RESPONSES).tools})
        return self._loaded

    def called(self, tool_id: str) -> None:
        pass


class Ours:
    """The program searches by the router, as on OpenAI's Responses API."""

    hosted = False

    def __init__(self, router: Router, detail: Detail = Detail.FULL) -> None:
        self._router, self._search = router, ResponsesToolSearch(router, k=5, detail=detail)
        self.tools: Sequence[Any] = self._search.tools
        self._loaded: set[str] = set()

    def begin(self, messages: Sequence[str]) -> set[str]:
        return self._loaded

    def search(self, words: str, items: list[Any]) -> set[str] | None:
        answer = self._search.answers(items[-1:], lambda *_: None, history=items)
        for tool in answer[0]["tools"]:
            tool_id = self._router.tool_id_of(tool["name"])
            assert tool_id, tool["name"]
            self._loaded.add(tool_id)
        items += answer
        return self._loaded

    def called(self, tool_id: str) -> None:
        pass


def ways(router: Router) -> dict[str, Callable[[], Way]]:
    """By name, what makes a way for one dialogue."""
    records = [*router.tools]
    hosted = hosted_tools(router).tools
    listed = [{key: tool[key] for key in ("type", "name", "description") if key in tool} for tool in hosted]
    bm25, regex = Bm25Search(records), RegexSearch(records)

    def afresh(messages: Sequence[str]) -> list[ToolRecord]:
        return [tool.record for tool in router.route(messages[-MESSAGES:], k=K)]

    def stable() -> Way:
        selection = StableSelection(router, k=K, form=ProviderFormat.RESPONSES)

        def select(messages: Sequence[str]) -> Sequence[ToolRecord]:
            tokens = sum(map(len, messages)) // 4
            return selection.select(messages[-MESSAGES:], message_tokens=tokens).tools

        return InPrompt(select, selection.called)

    return {
        "all tools in the prompt": lambda: InPrompt(lambda _: records, lambda _: None),
        "best 8 afresh each turn": lambda: InPrompt(afresh, lambda _: None),
        "StableSelection": stable,
        "hosted, namespaces, BM25": lambda: Hosted(listed, bm25.find),
        "hosted, BM25": lambda: Hosted([HOSTED_SEARCH], bm25.find),
        "hosted, regex": lambda: Hosted([HOSTED_SEARCH], regex.find),
        "client-executed, router": lambda: Ours(router),
        "client-executed, router, short": lambda: Ours(router, Detail.SHORT),
    }


class Bill:
    """Counts what the prompts of one dialogue cost."""

    def __init__(self, count: Count) -> None:
        self._count, self._before = count, list[str]()
        self.tokens = self.cached = self.requests = 0

    def request(self, tools: Sequence[Any], items: Sequence[Any]) -> None:
        """Count a prompt, its tools first."""
        prompt = "".join(json.dumps(part, separators=(",", ":"), ensure_ascii=False) for part in (*tools, *items))
        cached = max((self._count(common(earlier, prompt)) for earlier in self._before), default=0)
        self.tokens += self._count(prompt)
        self.cached += cached // CACHE_STEP * CACHE_STEP if cached >= CACHE_LEAST else 0
        self.requests += 1
        self._before = [*self._before, prompt][-REMEMBERED:]


class Run:
    """One dialogue in one way."""

    def __init__(self, way: Way, count: Count) -> None:
        self._way, self._bill = way, Bill(count)
        self._items: list[Any] = []
        self._said: list[str] = []
        self._at_hand_turns, self._searched_s = 0, 0.0

    def turn(self, judgement: Judgement) -> None:
        """Let the model search, call and answer."""
        self._said.append(judgement.request)
        self._items.append({"role": "user", "content": judgement.request})
        at_hand = self._timed(lambda: self._way.begin(self._said)) or set()
        for words in (judgement.request, reworded(judgement.request)):
            if all(step & at_hand for step in judgement.steps):
                break
            at_hand = self._search(words) or at_hand
        self._at_hand_turns += all(step & at_hand for step in judgement.steps)
        called = [min(step & at_hand) for step in judgement.steps if step & at_hand]
        if called:
            self._bill.request(self._way.tools, self._items)
        for tool_id in called:
            self._way.called(tool_id)
            call_id = f"call_{len(self._items)}"
            self._items.append({"type": "function_call", "call_id": call_id, "name": tool_id, "arguments": "{}"})
            self._items.append({"type": "function_call_output", "call_id": call_id, "output": '{"ok":true}'})
        self._bill.request(self._way.tools, self._items)
        said = "That is done." if called else "I have no tool for that."
        self._items.append({"role": "assistant", "content": said})

    def _search(self, words: str) -> set[str] | None:
        """Search; where the program does that, the model's search is a request of its own."""
        before = [*self._items]
        call_id = f"search_{len(before)}"
        self._items.append({"type": "tool_search_call", "call_id": call_id, "arguments": {"request": words}})
        found = self._timed(lambda: self._way.search(words, self._items))
        if found is None:
            self._items = before
        elif not self._way.hosted:
            self._bill.request(self._way.tools, before)
        return found

    def _timed(self, call: Callable[[], set[str] | None]) -> set[str] | None:
        begun = time.process_time()
        found = call()
        self._searched_s += time.process_time() - begun
        return found

    def figures(self) -> dict[str, float]:
        """Return what the dialogue cost."""
        bill, turns = self._bill, len(self._said)
        return {
            "tokens": bill.tokens,
            "cached": bill.cached,
            "paid": bill.tokens - bill.cached + CACHED * bill.cached,
            "requests": bill.requests,
            "at_hand": self._at_hand_turns / turns,
            "search_ms": 0.0 if self._way.hosted else 1e3 * self._searched_s / turns,
        }


def run(way: Way, dialogue: Sequence[Judgement], count: Count) -> dict[str, float]:
    """Run one dialogue; return its figures."""
    dialogue_run = Run(way, count)
    for judgement in dialogue:
        dialogue_run.turn(judgement)
    return dialogue_run.figures()


def reworded(request: str) -> str:
    """Return a request without names and numbers, as a model might word its second search."""
    first, *others = request.split()
    kept = [word for word in others if word.islower()]
    return " ".join([first.lower(), *kept])


def measure(router: Router, dialogues: Sequence[Sequence[Judgement]], count: Count) -> dict[str, Any]:
    """Return the figures of each way: means over the dialogues, and the standard deviations of two of them."""
    figures = {}
    for name, make in ways(router).items():
        rows = [run(make(), dialogue, count) for dialogue in dialogues]
        means = {leaf: fmean(row[leaf] for row in rows) for leaf in rows[0]}
        spread = {f"{leaf}_sd": pstdev(row[leaf] for row in rows) for leaf in ("paid", "at_hand")}
        if means["at_hand"]:
            means["paid_a_turn"] = means["paid"] / (means["at_hand"] * len(dialogues[0]))
        figures[name] = {leaf: round(value, 3) for leaf, value in {**means, **spread}.items()}
    return figures


def main() -> None:
    """Measure, print, write."""
    parser = arguments(__doc__)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--judged", type=Path, metavar="FOLDER", required=True, help="draw from its judged requests")
    parser.add_argument("--against", type=Path, metavar="STORED", help="a stored run, to print ratios to")
    asked = parser.parse_args()
    found = about(asked.snapshot)
    counter = TokenCounter()
    with Router.open(asked.snapshot) as router:
        figures = measure(router, drawn(router, asked.judged, DIALOGUES), counter.length)
    title = f"{DIALOGUES} dialogues of {TURNS} turns, tokens by {counter.name}"
    report(title, {**found, "tokens": {"counter": counter.name}}, figures, asked.json, asked.against)


if __name__ == "__main__":
    main()
