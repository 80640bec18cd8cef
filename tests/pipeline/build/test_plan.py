"""What a build would ask and cost, before it does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.build.plan import Plan, plan
from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from pipeline.settings import CatalogSettings, load
from pipeline.sources import Reading, read
from quartermaster.output.build import report_rows, show_plan
from quartermaster.output.formatting import dollars
from tests.pipeline.enrichment.model_server import USAGE, ModelServer
from tests.support.quick import QUICK
from tests.support.rows import write_rows

_PRICE = {"gpt-5-mini": {"input": 0.25, "cached": 0.025, "output": 2.0}}
_TWO = (("a", "Does a."), ("b", "Does b."))


def _write(folder: Path, *tools: tuple[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    rows = [{"id": f"shop/{n}", "name": n, "provider": "shop", "description": text} for n, text in tools]
    write_rows(folder / "tools.jsonl", rows)
    return folder


def _settings(folder: Path, server: ModelServer, **fields: Any) -> CatalogSettings:
    model = {**server.settings().model_dump(exclude_unset=True), "generator": "openai", "contrast": False, **fields}
    return load(folder, {**QUICK, "enrichment": model}, environment={})


def _counts(planned: Plan) -> tuple[int, int, int, int]:
    return planned.new, planned.changed, planned.unchanged, planned.removed


def test_a_plan_counts_tools_against_what_serves_asks_nothing_and_estimates_by_what_came_before(tmp_path: Path) -> None:
    folder = _write(tmp_path / "shop", *_TWO, ("c", "Does c."))
    with ModelServer() as server:
        first = plan(_settings(folder, server), workspace=tmp_path / "ws")
        assert (_counts(first), first.serving, first.estimate.questions) == ((3, 0, 0, 0), None, 3)
        assert server.requests == []
        built = build(_settings(folder, server), workspace=tmp_path / "ws")
        _write(folder, ("a", "Does a."), ("b", "Does b and more."), ("d", "Does d."))
        second = plan(_settings(folder, server, prices=_PRICE), workspace=tmp_path / "ws")
    assert (_counts(second), second.serving) == ((1, 1, 1, 1), built.snapshot.name)
    expected = second.estimate
    assert (expected.known, expected.questions, len(server.requests)) == (1, 2, 3)
    assert expected.completion_tokens == 2 * USAGE["completion_tokens"]
    prompt, cached = expected.prompt_tokens, round(0.4 * expected.prompt_tokens)  # 400 of 1,000 were cached
    assert expected.cost_usd == pytest.approx(((prompt - cached) * 0.25 + cached * 0.025 + 400 * 2.0) / 1e6)
    with Ledger.open(
        tmp_path / "ws"
    ) as ledger:  # a plan leaves no run; the build's estimate stands beside what it took
        (run,) = ledger.history.runs("shop").to_pylist()
    assert run["cost_usd"] == pytest.approx(built.usage.cost_usd) and run["cost_usd"] > 0
    assert run["estimated_usd"] == pytest.approx(built.estimate.cost_usd) and run["estimated_usd"] > 0
    rows = dict(report_rows(built))
    assert rows["model"].endswith(f"; estimated before: 3 questions, {dollars(built.estimate.cost_usd)}")
    assert dict(report_rows(replace(built, reused=5)))["expansions"] == "3 by openai; 5 answers known from the ledger"


def test_a_plan_knows_the_modes_the_limits_the_prices_and_the_budget(tmp_path: Path) -> None:
    folder = _write(tmp_path / "shop", *_TWO)
    with ModelServer() as server:

        def planned(**fields: Any) -> Any:
            return plan(_settings(folder, server, **fields), workspace=tmp_path / "ws").estimate

        direct, batch = planned(), planned(mode="batch")
        assert direct.cost_usd and batch.cost_usd == pytest.approx(direct.cost_usd / 2)
        assert direct.seconds is None  # no limit
        assert planned(requests_per_minute=60).seconds == pytest.approx(2 / 0.98)
        narrow = planned(requests_per_minute=60, tokens_per_minute=1)
        assert narrow.seconds == pytest.approx(60 * (narrow.prompt_tokens + narrow.completion_tokens) / 0.98)
        unpriced = planned(model="llama3")
        assert (unpriced.questions, unpriced.cost_usd) == (2, None)
        assert planned(max_tools=1).questions == 1


def test_a_plan_tells_the_share_of_sources_that_it_does_not_read_beside_the_price(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, printed = _write(tmp_path / "shop", ("a", "Does a.")), tmp_path / "shop" / "printed.json"
    printed.write_text('[{"name": "x"}, {"name": "y"}]', encoding="utf-8")
    (folder / "catalog.toml").write_text(
        '[[source]]\npath = "tools.jsonl"\n[[source]]\ncommand = ["cat", "printed.json"]\nformat = "function"\n',
        encoding="utf-8",
    )
    with ModelServer() as server:

        def planned() -> Plan:
            return plan(_settings(folder, server, prices=_PRICE), workspace=tmp_path / "ws")

        first = planned()
        assert first.estimate.questions == 1 and first.not_read == {"sources": 1, "tools": 0, "cost_usd": None}
        build(_settings(folder, server), workspace=tmp_path / "ws")
        unchanged = planned()
        assert unchanged.estimate.questions == 0 and unchanged.not_read == {"sources": 1, "tools": 2, "cost_usd": None}
        _write(folder, ("a", "Does a and more."))
        changed = planned()
        cost = changed.estimate.cost_usd
        assert cost and changed.not_read == {"sources": 1, "tools": 2, "cost_usd": pytest.approx(2 * cost)}
        assert changed.to_json()["not_read"] == changed.not_read
        for shown in (first, unchanged, changed):
            show_plan(shown)
        (folder / "catalog.toml").unlink()
        whole = planned()
        show_plan(whole)
    assert whole.not_read["sources"] == 0
    told = " ".join(capsys.readouterr().out.split())
    beside = " + what changed in 1 source not read"
    assert f"cost ${first.estimate.cost_usd:,.4f}{beside} (never read) time" in told
    assert f"to ask nothing{beside} (2 tools) tools" in told
    assert f"cost ${cost:,.4f}{beside} (2 tools, ${2 * cost:,.4f} if all changed) time" in told
    assert f"cost ${whole.estimate.cost_usd:,.4f} time" in told


def test_a_build_goes_on_while_a_plan_waits_for_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(tmp_path / "slow.jsonl", [{"name": "slow", "description": "Is slow."}])
    write_rows(tmp_path / "empty.jsonl", [])
    slow, empty = (load(tmp_path / f"{name}.jsonl", QUICK, environment={}) for name in ("slow", "empty"))

    def read_slowly(settings: CatalogSettings, **more: Any) -> Reading:
        monkeypatch.undo()
        with pytest.raises(RunAborted, match="no tool"):  # and not that the ledger is in use
            build(empty, workspace=tmp_path / "ws")
        return read(settings, **more)

    monkeypatch.setattr("pipeline.build.plan.sources.read", read_slowly)
    assert plan(slow, workspace=tmp_path / "ws").new == 1
