"""What a build would ask and cost, before it does."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.plan import Plan, plan
from pipeline.ledger import Ledger
from pipeline.settings import CatalogSettings, load
from tests.pipeline.enrichment.model_server import USAGE, ModelServer
from tests.support.quick import QUICK

_PRICE = {"gpt-5-mini": {"input": 0.25, "cached": 0.025, "output": 2.0}}


def _write(folder: Path, *tools: tuple[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    rows = [{"id": f"shop/{n}", "name": n, "provider": "shop", "description": text} for n, text in tools]
    (folder / "tools.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def _settings(folder: Path, server: ModelServer, **fields: Any) -> CatalogSettings:
    model = {**server.settings().model_dump(exclude_unset=True), "generator": "openai", "contrast": False, **fields}
    return load(folder, {**QUICK, "enrichment": model}, environment={})


def _counts(planned: Plan) -> tuple[int, int, int, int]:
    return planned.new, planned.changed, planned.unchanged, planned.removed


def test_a_plan_counts_tools_against_what_serves_and_asks_nothing(tmp_path: Path) -> None:
    folder = _write(tmp_path / "shop", ("a", "Does a."), ("b", "Does b."), ("c", "Does c."))
    with ModelServer() as server:
        first = plan(_settings(folder, server), workspace=tmp_path / "ws")
        assert (_counts(first), first.serving, first.estimate.questions) == ((3, 0, 0, 0), None, 3)
        assert server.requests == []
        built = build(_settings(folder, server), workspace=tmp_path / "ws")
        _write(folder, ("a", "Does a."), ("b", "Does b and more."), ("d", "Does d."))
        second = plan(_settings(folder, server), workspace=tmp_path / "ws")
    assert (_counts(second), second.serving) == ((1, 1, 1, 1), built.snapshot.name)
    assert (second.estimate.known, second.estimate.questions) == (1, 2)
    assert len(server.requests) == 3


def test_a_plan_leaves_no_run_in_the_ledger(tmp_path: Path) -> None:
    folder = _write(tmp_path / "shop", ("a", "Does a."))
    with ModelServer() as server:
        plan(_settings(folder, server), workspace=tmp_path / "ws")
    with Ledger.open(tmp_path / "ws") as ledger:
        assert ledger.runs("shop").num_rows == 0


def test_answers_are_estimated_by_those_that_came_before_and_prompts_by_their_cached_share(tmp_path: Path) -> None:
    folder = _write(tmp_path / "shop", ("a", "Does a."))
    with ModelServer() as server:
        build(_settings(folder, server), workspace=tmp_path / "ws")
        _write(folder, ("a", "Does a."), ("b", "Does b."), ("c", "Does c."))
        expected = plan(_settings(folder, server, prices=_PRICE), workspace=tmp_path / "ws").estimate
    assert expected.completion_tokens == 2 * USAGE["completion_tokens"]
    prompt, cached = expected.prompt_tokens, round(0.4 * expected.prompt_tokens)  # 400 of 1,000 were cached
    assert expected.cost_usd == pytest.approx(((prompt - cached) * 0.25 + cached * 0.025 + 400 * 2.0) / 1e6)


def test_the_batch_api_is_planned_at_its_share_of_the_price(tmp_path: Path) -> None:
    folder = _write(tmp_path / "shop", ("a", "Does a."), ("b", "Does b."))
    with ModelServer() as server:
        direct, batch = (
            plan(_settings(folder, server, mode=mode), workspace=tmp_path / "ws").estimate
            for mode in ("direct", "batch")
        )
    assert direct.cost_usd and batch.cost_usd == pytest.approx(direct.cost_usd / 2)


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [({}, None), ({"requests_per_minute": 60}, 2 / 0.98), ({"requests_per_minute": 60, "tokens_per_minute": 1}, ...)],
    ids=["none", "requests", "tokens"],
)
def test_the_time_is_that_of_the_narrower_limit(tmp_path: Path, limits: dict[str, int], seconds: Any) -> None:
    folder = _write(tmp_path / "shop", ("a", "Does a."), ("b", "Does b."))
    with ModelServer() as server:
        expected = plan(_settings(folder, server, **limits), workspace=tmp_path / "ws").estimate
    if seconds is ...:
        seconds = 60 * (expected.prompt_tokens + expected.completion_tokens) / 0.98
    assert expected.seconds == (None if seconds is None else pytest.approx(seconds))


def test_a_model_without_price_has_a_plan_without_cost(tmp_path: Path) -> None:
    folder = _write(tmp_path / "shop", ("a", "Does a."))
    with ModelServer() as server:
        expected = plan(_settings(folder, server, model="llama3"), workspace=tmp_path / "ws").estimate
    assert (expected.questions, expected.cost_usd) == (1, None)


def test_no_more_is_planned_than_the_budget_of_tools_allows(tmp_path: Path) -> None:
    folder = _write(tmp_path / "shop", *((f"t{n}", "Does it.") for n in range(5)))
    with ModelServer() as server:
        assert plan(_settings(folder, server, max_tools=2), workspace=tmp_path / "ws").estimate.questions == 2


def test_a_build_keeps_its_estimate_beside_what_it_took(tmp_path: Path) -> None:
    folder = _write(tmp_path / "shop", ("a", "Does a."), ("b", "Does b."))
    with ModelServer() as server:
        report = build(_settings(folder, server), workspace=tmp_path / "ws")
    with Ledger.open(tmp_path / "ws") as ledger:
        (run,) = ledger.runs("shop").to_pylist()
    assert run["cost_usd"] == pytest.approx(report.usage.cost_usd) and run["cost_usd"] > 0
    assert run["estimated_usd"] == pytest.approx(report.estimate.cost_usd) and run["estimated_usd"] > 0
