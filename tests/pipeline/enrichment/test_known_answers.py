"""A language more asks a model for that language alone, and one less for nothing."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.enrichment import Enrichment
from pipeline.enrichment.estimate import Estimate, estimate
from pipeline.enrichment.openai import BatchGenerator, DirectGenerator
from pipeline.ledger import Ledger
from router.expansion import Expansion
from tests.pipeline.enrichment.batch_server import BatchServer, Course
from tests.pipeline.enrichment.catalog_run import catalog, enriched, ledger_rows, run
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion, error, row

TOOLS = catalog("a", "b", "c")
SIBLINGS = {"a": ["b"]}


def asked(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a request shows beside the tool."""
    shown = json.loads(body["messages"][1]["content"])
    return {**shown, "tool": shown["tool"]["name"]}


def translator(body: dict[str, Any], _: int = 0) -> Reply:
    """Answers in each language that is asked for, in the form that is asked for."""
    said = asked(body)
    beside = ", unlike others" if "siblings" in said else ""
    whole = {**row(said["tool"]), "user_phrases": [f"please do {said['tool']}{beside}"]}
    answer = {"translations": {one: [f"{said['tool']} ({one}){beside}"] for one in said.get("languages", ())}}
    return Reply(
        completion(json.dumps({**whole, **answer} if "only" not in said else {"tool": said["tool"], **answer}))
    )


def built(
    folder: Path, server: ModelServer, *languages: str, siblings: Mapping[str, Sequence[str]] | None = None
) -> tuple[Enrichment, list[dict[str, Any]]]:
    """Enrich in English and these languages; return what was found, and what was asked."""
    before = len(server.requests)
    result = run(folder, TOOLS, DirectGenerator(server.settings(languages=("en", *languages))), siblings=siblings)
    return result, [asked(request.body) for request in server.requests[before:]]


def expansion(name: str, *languages: str, beside: str = "") -> Expansion:
    said = {**row(name), "user_phrases": [f"please do {name}{beside}"]}
    return Expansion.from_json({**said, "translations": {one: [f"{name} ({one}){beside}"] for one in languages}})


def test_only_the_languages_that_are_new_are_asked_for(tmp_path: Path) -> None:
    with ModelServer(translator) as server:
        built(tmp_path, server)
        for languages, new in ((["de"], ["de"]), (["de", "ja"], ["ja"]), (["de", "ja"], []), (["ja"], []), ([], [])):
            result, questions = built(tmp_path, server, *languages)
            assert [(said["tool"], said["languages"]) for said in questions] == [(one, new) for one in "abc" if new]
            found = {tool: written.expansion for tool, written in result.written.items()}
            for name in "abc":
                assert found[name].user_phrases == (f"please do {name}",)
                assert set(languages) <= found[name].translations.keys()
            assert result.stale == {} and result.failures == []
        (schema,) = {json.dumps(one.body["response_format"]["json_schema"]["schema"]) for one in server.requests[6:]}
    assert json.loads(schema)["required"] == ["tool", "translations"]
    assert list(json.loads(schema)["properties"]["translations"]["properties"]) == ["ja"]
    (kept,) = ledger_rows(tmp_path, "SELECT count(DISTINCT completion) FROM expansions WHERE tool_id = 'a'")
    assert kept == (3,)  # each as it came


def test_an_answer_beside_siblings_takes_the_language_from_the_first_one(tmp_path: Path) -> None:
    with ModelServer(translator) as server:
        assert len(built(tmp_path, server, siblings=SIBLINGS)[1]) == 4
        result, questions = built(tmp_path, server, "de", siblings=SIBLINGS)
        assert [said["tool"] for said in questions] == ["a", "b", "c"]
        again, nothing = built(tmp_path, server, "de", siblings=SIBLINGS)
    said = result.written["a"].expansion
    assert said.user_phrases == ("please do a, unlike others",) and said.translations == {"de": ("a (de)",)}
    assert nothing == [] and again.written["a"].expansion == said


def test_where_the_model_fails_the_known_phrases_serve_and_it_is_asked_again(tmp_path: Path) -> None:
    with ModelServer(translator) as server:
        built(tmp_path, server)
        server.script = lambda body, n: error(400, "no")
        failed, _ = built(tmp_path, server, "de")
        server.script = lambda body, n: Reply(completion(json.dumps({"tool": asked(body)["tool"], "translations": {}})))
        empty, _ = built(tmp_path, server, "de")
        server.script = translator
        result, questions = built(tmp_path, server, "de")
    assert [str(stale) for stale in failed.stale.values()] == ["with other parameters"] * 3
    assert {failure.message for failure in empty.failures} == {"translations holds no phrase"} and len(empty.stale) == 3
    assert [said["languages"] for said in questions] == [["de"]] * 3 and result.stale == {}


def test_an_answer_that_the_checks_refuse_today_is_asked_for_anew_and_whole(tmp_path: Path) -> None:
    with ModelServer(translator) as server:
        built(tmp_path, server)
        settings = server.settings(languages=("en", "de"))
        refusing = lambda record, said: (said if said.translations else Expansion("", ()), ())  # noqa: E731
        run(tmp_path, TOOLS, DirectGenerator(settings), screen=refusing)
    assert [("only" in asked(request.body)) for request in server.requests] == [False] * 6


def test_a_batch_asks_for_the_new_language_alone(tmp_path: Path) -> None:
    with BatchServer(translator) as server, Ledger.open(tmp_path) as ledger:
        for languages in (("en",), ("en", "de")):
            result = enriched(ledger, TOOLS, BatchGenerator(server.settings(languages=languages), ledger))
        assert [asked(line["body"]).get("only") is None for line in server.lines(1)] == [False] * 3
    assert {tool: written.expansion for tool, written in result.written.items()} == {
        name: expansion(name, "de") for name in "abc"
    }


def test_a_new_language_in_a_batch_that_others_collect_is_kept_for_its_question(tmp_path: Path) -> None:
    with BatchServer(translator, [Course(), Course(["in_progress"])]) as server, Ledger.open(tmp_path) as ledger:

        def night(*languages: str, wait_s: float = 20.0) -> Enrichment:
            settings = server.settings(wait_s, languages=("en", *languages))
            return enriched(ledger, TOOLS, BatchGenerator(settings, ledger))

        night()
        assert {failure.kind for failure in night("de", wait_s=0).failures} == {"waiting"}
        server.proceed("completed")
        others = BatchGenerator(server.settings(), ledger)
        enriched(ledger, catalog("d"), others)
        assert others.unclaimed.cost_usd and ledger.answers.latest_kinds("gpt-5-mini", 9) == [""] * 7
        assert night("de").reused == 3
        assert len(server.batches) == 3


@pytest.mark.parametrize("siblings", [None, SIBLINGS])
def test_the_estimate_has_the_price_of_the_language_alone(
    tmp_path: Path, siblings: Mapping[str, Sequence[str]] | None
) -> None:
    def foreseen(server: ModelServer, *languages: str) -> Estimate:
        settings = server.settings(languages=("en", *languages))
        with Ledger.open(tmp_path) as ledger:
            return estimate(TOOLS, [DirectGenerator(settings)], settings, ledger, assessed=True)

    with ModelServer(translator) as server:
        whole = foreseen(server)
        assert (whole.questions, whole.contrasted, whole.completion_tokens) == (3, 1, 1_600)
        built(tmp_path, server, siblings=siblings)
        added = foreseen(server, "de", "ja")
        assert (added.known, added.questions, added.contrasted, added.completion_tokens) == (0, 3, 0, 600)
        built(tmp_path, server, "de", "ja", siblings=siblings)  # 200 tokens an answer, in two languages
        later = foreseen(server, "de", "ja", "ko")
        assert (later.known, later.questions, later.completion_tokens) == (0, 3, 300)
        assert foreseen(server, "de").questions == 0 and foreseen(server, "de").known == 3
