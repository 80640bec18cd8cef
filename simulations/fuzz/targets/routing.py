"""Requests with all options, and selections: what a client sends to a router."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from router import Router
from router.answer.results import RoutedTools
from router.errors import QuartermasterError, SettingsInvalid
from router.provider_formats.formats import ProviderFormat
from router.record import ToolRecord
from router.selection.settings import Selection
from simulations.fuzz.mutation import Form as InputForm
from simulations.fuzz.target import Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds

# What JSON lacks and a Python caller may pass, as {"$python": name}.
_VALUES: dict[str, Any] = {"bytes": b"x", "set": {1}, "object": object(), "class": int, "complex": 1j}


def check_answer(routed: RoutedTools, k: int, budget: int | None) -> None:
    """Check that an answer keeps to k and to the budget, holds each tool once, and can be sent."""
    always = {tool.tool_id for tool in routed.always}
    ids = [tool.tool_id for tool in routed.tools]
    assert len(ids) <= k, "there are more tools than k"
    assert len(set(ids)) == len(ids), "a tool stands twice in an answer"
    assert not always & set(ids), "a tool of `always` stands among the ranked ones too"
    assert budget is None or not ids or (routed.tokens or 0) <= budget, "the tools exceed the token budget"
    json.dumps(routed.to_json(), allow_nan=False).encode()
    if routed.form is not None:
        routed.render(strict=True)


def _route(resources: Resources) -> Run:
    router = resources.stack.enter_context(Router.open(resources.snapshot, request_cache=100))

    def run(data: bytes) -> None:
        row = read_object(data, _VALUES)
        options = row.get("options")
        options = {str(key): value for key, value in options.items()} if isinstance(options, dict) else {}
        if isinstance(selection := options.get("selection"), dict):
            options["selection"] = Selection.from_json(selection)
        routed = router.route(row.get("request"), **options)  # type: ignore[arg-type]
        check_answer(routed, options.get("k", 10), options.get("token_budget"))
        again = router.route(row.get("request"), **options)  # type: ignore[arg-type]
        assert again.ids == routed.ids, "the same request had another answer"

    return run


def _selection(resources: Resources) -> Run:
    router = resources.stack.enter_context(Router.open(resources.snapshot))

    def run(data: bytes) -> None:
        selection = Selection.from_json(read_object(data))
        assert Selection.from_json(json.loads(json.dumps(selection.to_json()))) == selection, "it changes when stored"
        routed = router.route("undo the payment", selection=selection, k=50)
        for tool in routed.tools:
            assert _may_answer(selection, tool.record), f"the selection lets {tool.tool_id} through"
        assert {tool.tool_id for tool in routed.always} <= set(selection.always), "`always` has an unnamed tool"
        blocked = Selection.from_json({**selection.to_json(), "block": [*selection.block, *routed.ids[:1]]})
        if routed.ids:
            narrower = router.route("undo the payment", selection=_quiet(blocked), k=50)
            assert routed.ids[0] not in narrower.ids, "a tool that is blocked by its id is in the answer"

    return run


def _quiet(selection: Selection) -> Selection:
    return Selection.from_json({**selection.to_json(), "fallback_to_empty": True})


def _may_answer(selection: Selection, record: ToolRecord) -> bool:
    """Return whether a selection's lists let a record through; globs are left to the tests of selection."""
    if selection.providers and not _folded(selection.providers) & _folded([record.provider or ""]):
        return False
    if selection.categories and not _folded(selection.categories) & _folded(record.categories):
        return False
    if any(record.annotations.get(key) != value for key, value in selection.annotations.items()):
        return False
    return record.tool_id not in selection.block and record.name not in selection.block


def _selection_file(suffix: str) -> Any:
    def prepare(resources: Resources) -> Run:
        write = resources.file(f"selection{suffix}")

        def run(data: bytes) -> None:
            path: Path = write(data)
            assert isinstance(Selection.load(path), Selection)

        return run

    return prepare


def _folded(names: Iterable[str]) -> set[str]:
    return {name.strip().casefold() for name in names}


_SELECTION: dict[str, Any] = {
    "allow": ["stripe/*", "linear/create_issue", "*"], "block": ["slack/*"], "providers": ["stripe", "linear"],
    "categories": [], "annotations": {}, "use_category_filter": True, "category_confidence_threshold": 0.5,
    "candidate_pool_size": 20, "min_lexical_overlap": 0, "min_combined_score": 0.1,
    "weights": {"embed": 0.5, "lexical": 0.5, "tag": 0, "name": 1, "category": None},
    "always": ["weather/getForecast"], "empty_if_none_fits": False, "fallback_to_empty": True,
}  # fmt: skip
_NARROW = {"block": ["stripe/*", "*issue*"], "always": ["github/create_issue"]}
_OPTIONS = {
    "k": 3, "explain": True, "recipe": "default", "selection": _SELECTION, "category": "sky",
    "category_confidence": 0.9, "token_budget": 300, "form": "openai", "detail": "full", "shorten": True,
}  # fmt: skip
_DIALOGUE = [
    {"role": "user", "content": "give Bob his money back, then tell the team in slack"},
    {"role": "assistant", "content": "Done."},
    {"role": "user", "content": [{"type": "text", "text": "the same for Ann"}, "please"]},
]
_REQUESTS = [
    {"request": "undo a payment", "options": _OPTIONS},
    {"request": _DIALOGUE, "options": {"form": str(ProviderFormat.MCP), "token_budget": 90, "detail": "short"}},
    {"request": {"$python": "bytes"}, "options": {"k": {"$python": "complex"}, "selection": {"$python": "object"}}},
    {"request": "will it rain tomorrow", "options": {"k": 1, "recipe": "adaptive"}},
]
_TOML = b"""[selection]
allow = ["stripe/*"]
min_combined_score = 0.5
[selection.weights]
embed = 1.0
"""
_ROUTES = tuple(map(seeds.document, _REQUESTS))
_FILE = seeds.document({"selection": _SELECTION})
_REFUSED = (SettingsInvalid,)
TARGETS = (
    # TypeError is the documented error of an unknown option.
    Target("route", InputForm.JSON, _ROUTES, _route, (QuartermasterError, TypeError), gate=30),
    Target("selection", InputForm.JSON, tuple(map(seeds.document, (_SELECTION, _NARROW))), _selection, gate=30),
    Target("selection_json", InputForm.JSON, (_FILE,), _selection_file(".json"), _REFUSED),
    Target("selection_toml", InputForm.TOML, (_TOML,), _selection_file(".toml"), _REFUSED),
)  # fmt: skip
