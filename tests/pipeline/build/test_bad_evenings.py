"""A night on which the model answers badly: the earlier phrases serve, somebody is told, and the next night mends it."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.settings import load
from tests.pipeline.enrichment.model_server import COST, ModelServer, Reply, Script, completion, tool_of
from tests.support.quick import QUICK
from tests.support.rows import select, write_rows

_VERBS = ("archive", "approve", "cancel", "copy", "create", "export", "find", "import", "label", "merge")
_NOUNS = ("invoice", "ticket", "meeting", "parcel", "contract", "photo", "recipe", "flight", "lesson", "garden")
_TOOLS = [f"{verb}_{noun}" for noun in _NOUNS for verb in _VERBS]
_CHANGED = 50


def _phrases(name: str, *phrases: str, **message: Any) -> Reply:
    row = {"tool": name, "when_to_use": "", "user_phrases": list(phrases)}
    return Reply(completion(json.dumps(row, ensure_ascii=False), **message))


def _well(body: Mapping[str, Any], _: int = 0) -> Reply:
    words = tool_of(body)["name"].replace("_", " ")
    return _phrases(tool_of(body)["name"], f"please {words}", f"could you {words} before noon", f"i want to {words}")


def _of(answer: Callable[[str], Reply]) -> Script:
    return lambda body, _: answer(tool_of(body)["name"])


def _sibling(name: str) -> Reply:
    verb, noun = name.split("_")
    other = _NOUNS[(_NOUNS.index(noun) + 3) % len(_NOUNS)]
    return _phrases(name, f"please {verb} {other}", f"could you {verb} {other} today", f"{verb} my {other}")


def _third(body: Mapping[str, Any], count: int) -> Reply:
    name = tool_of(body)["name"]
    refused = (
        Reply(completion("I'm sorry, but I can't assist with that.")),
        Reply(completion(None, finish_reason="content_filter")),
        Reply(completion(None, message={"refusal": "I can't help with that."})),
    )
    return _well(body) if count % 3 else refused[sum(map(ord, name)) % 3]


_BAD: dict[str, Script] = {
    "apologises": _of(lambda name: _phrases(name, "I'm sorry, but I can't assist with that.")),
    "apologises in Japanese": _of(lambda name: _phrases(name, "申し訳ありませんが、お手伝いできません。")),
    "apologises by name": _of(
        lambda name: _phrases(name, f"I'm sorry, but I'm not able to help you with {name.replace('_', ' ')}.")
    ),
    "apologises by name in German": _of(
        lambda name: _phrases(name, f"Es tut mir leid, aber bei {name.replace('_', ' ')} kann ich nicht helfen.")
    ),
    "repeats one phrase": _of(lambda name: _phrases(name, "play some quiet music in the kitchen")),
    "too long": _of(lambda name: _phrases(name, f"please {name} " * 200)),
    "another script": _of(lambda name: _phrases(name, f"пожалуйста сделай {'это ' * (len(name) % 7 + 1)}")),
    "another language": _of(lambda name: _phrases(name, f"kannst du bitte {name.replace('_', ' ')} für mich erledigen")),
    "for a sibling": _of(_sibling),
    "refuses a third": _third,
}


class Office:
    """A catalog of a hundred tools, and its nights."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.workspace = folder / "office", folder / "ws"
        self.folder.mkdir(parents=True)

    def write(self, text: str = "", changed: int = _CHANGED) -> None:
        """Write the catalog; the descriptions of the first tools end with this text."""
        rows = []
        for number, name in enumerate(_TOOLS):
            words = name.replace("_", " the ")
            more = f" {text}" if number < changed else ""
            row = {"id": f"p/{name}", "name": name, "provider": "p", "description": f"Can {words}.{more}"}
            rows.append(row)
        write_rows(self.folder / "tools.jsonl", rows)

    def night(self, script: Script, **fields: Any) -> tuple[BuildReport, int]:
        """Build with a model that answers by this script; return the report, and how many questions it was asked."""
        with ModelServer(script) as server:
            model = {**server.settings().model_dump(exclude_unset=True), **fields}
            settings = load(self.folder, {"enrichment": model, **QUICK}, environment={})
            report = build(settings, workspace=self.workspace)
            return report, len(server.requests)

    def phrases(self, report: BuildReport) -> list[tuple[Any, ...]]:
        """Return all phrases of the snapshot that a build ended with."""
        return select(report.snapshot, "SELECT tool_id, phrase FROM phrases ORDER BY ALL")


@pytest.mark.parametrize("evening", _BAD)
def test_show(tmp_path: Path, evening: str) -> None:
    office, twin = Office(tmp_path / "bad"), Office(tmp_path / "good")
    for one in (office, twin):
        one.write()
        one.night(_well)
        one.write("It is new.")
    bad, asked = office.night(_BAD[evening])
    kept = [p for p in office.phrases(bad)]
    good, again = office.night(_well)
    right, needed = twin.night(_well)
    print("\n##", evening, "| bad:", bad.outcome, asked, len(kept), bad.held, bad.degraded, "| good:", good.outcome, again, good.degraded, good.held, office.phrases(good) == twin.phrases(right), "| twin", needed)
