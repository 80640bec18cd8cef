"""A source whose records change each night is named, and not paid for each night."""

from pathlib import Path

from pipeline.enrichment import Enrichment
from pipeline.enrichment.openai import DirectGenerator
from pipeline.records import Catalog, catalog_records
from router.record import Origin
from tests.pipeline.enrichment.catalog_run import run
from tests.pipeline.enrichment.model_server import ModelServer
from tests.support.factories import make_raw

_NAMES = [f"tool_{number}" for number in range(10)]


def _catalog(day: int, dated: int, added: int = 0) -> Catalog:
    """Return ten tools and some new ones; the descriptions of the first hold a date."""
    texts = [f"Does it. As of 2026-11-{day}." if number < dated else "Does it." for number in range(10)]
    new = [make_raw(f"new_{day}_{number}", description="Does it.") for number in range(added)]
    return catalog_records(
        [*(make_raw(name, description=f"{name} {text}") for name, text in zip(_NAMES, texts, strict=True)), *new]
    )


def _nights(workspace: Path, dated: int, share: float, nights: int) -> list[tuple[int, Enrichment]]:
    found = []
    with ModelServer() as server:
        for night in range(nights):
            before = len(server.requests)
            asks = DirectGenerator(server.settings(concurrency=10))
            night_found = run(workspace, _catalog(10 + night, dated), asks, share=share)
            found.append((len(server.requests) - before, night_found))
    return found


def test_many_tools_with_a_date_are_asked_about_at_once_then_ever_more_rarely(tmp_path: Path) -> None:
    nights = _nights(tmp_path, dated=5, share=0.2, nights=8)
    assert [asked for asked, _ in nights] == [10, 5, 0, 5, 0, 0, 0, 5]
    _, waiting = nights[2]
    assert len(waiting.written) == 10 and len(waiting.stale) == 5
    (told,) = waiting.churn
    assert told.startswith("5 tools of tools.json changed again and are asked about later: only in digits, ")
    assert "'2026-11-11' → '2026-11-12'" in told and "enrichment.max_reasked_share allows 20.0%" in told


def test_few_tools_or_a_share_of_one_are_asked_about_each_night(tmp_path: Path) -> None:
    assert [asked for asked, _ in _nights(tmp_path / "few", dated=2, share=0.05, nights=4)] == [10, 2, 2, 2]
    assert [asked for asked, _ in _nights(tmp_path / "all", dated=5, share=1.0, nights=4)] == [10, 5, 5, 5]


def test_new_tools_and_another_model_are_exempt(tmp_path: Path) -> None:
    _nights(tmp_path, dated=5, share=0.2, nights=2)
    with ModelServer() as server:
        found = run(tmp_path, _catalog(20, 5, added=2), DirectGenerator(server.settings()), share=0.2)
        assert server.asked == ["new_20_0", "new_20_1"] and found.churn
        run(tmp_path, _catalog(20, 5), DirectGenerator(server.settings(model="other")), share=0.2)
    assert len(server.requests) == 2 + 10


def test_a_source_that_changes_each_night_delays_no_other(tmp_path: Path) -> None:
    def of_both(day: int, honest: str) -> Catalog:
        texts = [honest if number < 3 else "Does it." for number in range(15)]
        others = [
            make_raw(f"other_{n}", description=text, origin=Origin("b.json", "/0")) for n, text in enumerate(texts)
        ]
        dated = [make_raw(name, description=f"{name} As of 2026-11-{day}.") for name in _NAMES]
        return catalog_records([*dated, *others])

    with ModelServer() as server:
        nights = [
            run(tmp_path, of_both(day, honest), DirectGenerator(server.settings(concurrency=10)), share=0.2)
            for day, honest in ((10, "Does it."), (11, "Does this."), (12, "Does that."))
        ]
        assert sorted(server.asked[10 + 15 + 10 + 3 :]) == ["other_0", "other_1", "other_2"]
    assert [told.split(" changed")[0] for told in nights[-1].churn] == ["10 tools of tools.json"]
