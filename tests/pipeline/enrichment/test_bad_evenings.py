"""After an evening on which the model answered badly, the earlier phrases serve, and the next one mends it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from pipeline.enrichment import Enrichment
from pipeline.enrichment.chain import FileGenerator
from pipeline.enrichment.openai import DirectGenerator
from pipeline.phrase_checks.screen import Screen
from pipeline.records import Catalog, catalog_records
from tests.pipeline.enrichment.catalog_run import ledger_rows, run
from tests.pipeline.enrichment.model_server import ModelServer, Reply, Script, completion, tool_of
from tests.support.factories import make_raw
from tests.support.rows import write_rows

_VERBS = ("archive", "approve", "cancel", "copy", "create", "export", "find", "import", "label", "merge")
_NOUNS = ("invoice", "ticket", "meeting", "parcel", "contract", "photo", "recipe", "flight", "lesson", "garden")
_TOOLS = [f"{verb}_{noun}" for noun in _NOUNS for verb in _VERBS]
_CHANGED = 50


def _catalog(text: str = "", changed: int = _CHANGED) -> Catalog:
    """Return a hundred tools; the descriptions of the first ones end with this text."""
    return catalog_records(
        make_raw(name, description=f"Can {name.replace('_', ' the ')}. {text if number < changed else ''}".strip())
        for number, name in enumerate(_TOOLS)
    )


def _says(name: str, *phrases: str) -> Reply:
    return Reply(completion(json.dumps({"tool": name, "user_phrases": phrases}, ensure_ascii=False)))


def _well(body: Mapping[str, Any], _: int = 0) -> Reply:
    words, about = tool_of(body)["name"].replace("_", " "), tool_of(body)["description"].split()[-1]
    return _says(tool_of(body)["name"], f"please {words}", f"could you {words} {about}", f"i want to {words}")


def _script(answer: Callable[[str, str], Reply]) -> Script:
    def script(body: Mapping[str, Any], _: int) -> Reply:
        name = tool_of(body)["name"]
        return answer(name, name.replace("_", " "))

    return script


def _of_another(name: str, _: str) -> Reply:
    verb, noun = _TOOLS[(_TOOLS.index(name) + 37) % len(_TOOLS)].split("_")
    return _says(name, f"please {verb} the {noun}", f"could you {verb} this {noun} before noon", f"{verb} my {noun}")


def _refusing_a_third(body: Mapping[str, Any], count: int) -> Reply:
    refusals = (
        Reply(completion("I'm sorry, but I can't assist with that.")),
        Reply(completion(None, finish_reason="content_filter")),
        Reply(completion(None, message={"refusal": "I can't help with that."})),
    )
    return refusals[count // 3 % 3] if count % 3 == 0 else _well(body)


_EVENINGS: dict[str, Script] = {
    "apologises": _script(lambda name, _: _says(name, "I'm sorry, but I can't assist with that.")),
    "apologises in Chinese": _script(lambda name, _: _says(name, "抱歉，我无法协助处理这个请求。")),
    "apologises by name": _script(lambda name, words: _says(name, f"I'm sorry, but I can't help you with {words}.")),
    "apologises by name in German": _script(
        lambda name, words: _says(name, f"Es tut mir leid, aber bei {words} kann ich nicht helfen.")
    ),
    "repeats one phrase": _script(lambda name, _: _says(name, "play some quiet music in the kitchen")),
    "answers too long": _script(lambda name, words: _says(name, f"please {words} " * 200)),
    "answers in Russian": _script(lambda name, words: _says(name, f"пожалуйста, {'очень ' * (len(words) % 7)}надо")),
    "answers for another tool": _script(_of_another),
}


def _evening(workspace: Path, catalog: Catalog, script: Script) -> tuple[Enrichment, int]:
    """Ask a model that answers by this script; return what came of it, and how many questions it was asked."""
    at_once = 25 if script is _well else 1  # answers that come together are stored together
    with ModelServer(script) as server:
        asks = DirectGenerator(server.settings(concurrency=at_once))
        found = run(workspace, catalog, asks, screen=Screen(catalog.records))
        return found, len(server.requests)


def _phrases(found: Enrichment) -> dict[str, tuple[str, ...]]:
    return {tool_id: written.expansion.user_phrases for tool_id, written in found.written.items()}


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Enrichment]:
    """A workspace after a good evening, to be copied, and what came of that."""
    folder = tmp_path_factory.mktemp("paid")
    return folder, _evening(folder, _catalog(), _well)[0]


@pytest.fixture(scope="module")
def right(paid: tuple[Path, Enrichment], tmp_path_factory: pytest.TempPathFactory) -> Enrichment:
    """What comes of the changed catalog without a bad evening between."""
    twin = copytree(paid[0], tmp_path_factory.mktemp("twin") / "ws")
    found, asked = _evening(twin, _catalog("It is new"), _well)
    assert (asked, found.answers["of use"].total(), found.rejected) == (_CHANGED, _CHANGED, {})
    return found


@pytest.mark.parametrize("evening", _EVENINGS)
def test_a_bad_evening_is_stopped_and_leaves_the_phrases_before(
    tmp_path: Path, evening: str, paid: tuple[Path, Enrichment]
) -> None:
    found, asked = _evening(copytree(paid[0], tmp_path / "ws"), _catalog("It is new"), _EVENINGS[evening])
    assert asked == 32 and len(found.rejected) == 32
    assert _phrases(found) == _phrases(paid[1]) and len(found.stale) == _CHANGED


_MENDED = ("apologises", "answers for another tool")


@pytest.mark.parametrize(
    "evening", [pytest.param(name, marks=[] if name in _MENDED else [pytest.mark.nightly]) for name in _EVENINGS]
)
def test_a_bad_evening_is_mended_by_the_next(
    tmp_path: Path, evening: str, paid: tuple[Path, Enrichment], right: Enrichment
) -> None:
    workspace, changed = copytree(paid[0], tmp_path / "ws"), _catalog("It is new")
    _evening(workspace, changed, _EVENINGS[evening])
    after, again = _evening(workspace, changed, _well)
    assert (_phrases(after), after.stale, after.verdicts) == (_phrases(right), {}, right.verdicts)
    assert again == _CHANGED  # those of the bad evening, and those that it had not come to
    assert _evening(workspace, changed, _well)[1] == 0


def test_a_model_that_refuses_a_third_is_asked_about_all_and_about_these_again(
    tmp_path: Path, paid: tuple[Path, Enrichment], right: Enrichment
) -> None:
    workspace = copytree(paid[0], tmp_path / "ws")
    found, _ = _evening(workspace, _catalog("It is new"), _refusing_a_third)
    assert len(found.written) == 100 and not any(failure.kind == "unasked" for failure in found.failures)
    after, again = _evening(workspace, _catalog("It is new"), _well)
    assert again == len(found.stale) > 0 and _phrases(after) == _phrases(right)


def test_a_crowd_of_one_providers_tools_does_not_stop_the_model_for_the_others_and_waits(tmp_path: Path) -> None:
    def careless(body: Mapping[str, Any], _: int) -> Reply:
        name = tool_of(body)["name"]
        return _says(name, "x" * 500) if tool_of(body)["provider"] == "careless" else _well(body)

    providers = ["careless"] * 60 + ["bank"] * 6 + ["mail"] * 6
    both = catalog_records(
        make_raw(name, provider=provider, description=f"Can {name.replace('_', ' the ')}.")
        for name, provider in zip(_TOOLS, providers, strict=False)
    )
    nights = [_evening(tmp_path, both, careless) for _ in range(3)]
    assert [asked for _, asked in nights] == [72, 32, 28]  # alone, they stop the model; then those asked twice wait
    assert len(nights[0][0].written) == 12 and len(nights[0][0].rejected) == 60


def test_a_tool_that_is_refused_again_and_again_is_asked_about_1_2_4_and_8_builds_later(tmp_path: Path) -> None:
    def one_badly(body: Mapping[str, Any], _: int) -> Reply:
        name = tool_of(body)["name"]
        return _says(name, "x" * 500) if name == _TOOLS[0] else _well(body)

    few = catalog_records(make_raw(name, description=f"Can {name}.") for name in _TOOLS[:3])
    asked = [_evening(tmp_path, few, one_badly)[1] for _ in range(16)]
    assert [(night, count) for night, count in enumerate(asked) if count] == [(0, 3), (1, 1), (3, 1), (7, 1), (15, 1)]
    assert ledger_rows(tmp_path, "SELECT DISTINCT refused_by FROM expansions WHERE refused_by IS NOT NULL") == [
        ("length",)
    ]


def test_what_other_checks_refused_is_judged_anew(tmp_path: Path) -> None:
    few = catalog_records(make_raw(name, description=f"Can {name}.") for name in _TOOLS[:3])
    with ModelServer(_well) as server:
        asks = DirectGenerator(server.settings())
        refused = run(tmp_path, few, asks, screen=lambda _, expansion: (replace(expansion, user_phrases=()), ()))
        accepted = run(tmp_path, few, asks, checks="others")
        assert run(tmp_path, few, asks, checks="others").reused == 3
    assert (refused.written, refused.answers["of no use"].total()) == ({}, 3)
    assert (accepted.reused, len(accepted.written), len(server.requests)) == (3, 3, 3)


def test_the_lines_of_a_file_may_repeat_each_other(tmp_path: Path) -> None:
    lines = [{"id": f"{name}", "user_phrases": ["have a look at what there is to do"]} for name in _TOOLS[:40]]
    write_rows(tmp_path / "lines.jsonl", lines)
    found = run(tmp_path / "ws", _catalog(), FileGenerator(tmp_path / "lines.jsonl", {}))
    assert (len(found.written), found.rejected, found.new_keys) == (40, {}, set())


def test_a_model_that_answers_in_another_language_is_refused_unless_the_record_is_in_it(tmp_path: Path) -> None:
    english, german = (
        make_raw("give_back", description="Gives a client the money back.", provider="bank"),
        make_raw(
            "erstatten", description="Erstattet einem Kunden das Geld und schickt ihm eine Nachricht.", provider="kasse"
        ),
    )
    answer = _script(lambda name, _: _says(name, "ich will mein Geld zurück", "gib der Kundin das Geld wieder"))
    found, _ = _evening(tmp_path, catalog_records([english, german]), answer)
    assert (found.rejected, [*found.written]) == ({"bank/give_back": "language"}, ["kasse/erstatten"])
