"""The file of metrics, read by Prometheus's parser."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipeline.monitoring import MonitoredRun, announce
from pipeline.monitoring.announce import write_textfile
from pipeline.settings import MetricsSettings, NotifySettings

Make = Callable[..., MonitoredRun]
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(text: str) -> Samples:
    """The samples of a file."""
    families = text_string_to_metric_families(text)
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_the_file_holds_the_figures_of_the_run(make_run: Make, tmp_path: Path) -> None:
    moment = datetime(2026, 11, 22, 2, tzinfo=UTC)
    run = make_run(outcome="held", held=("a gate",), succeeded_at=moment, ledger_bytes=4096)
    text = write_textfile(tmp_path / "office.prom", run).read_text(encoding="utf-8")
    found = samples(text)

    def value(name: str, **labels: str) -> float:
        return found[f"quartermaster_build_{name}", tuple(sorted({"catalog": "office", **labels}.items()))]

    assert (value("outcome", outcome="held"), value("outcome", outcome="published")) == (1, 0)
    assert (value("exit_code"), value("run"), value("held"), value("degraded")) == (1, 7, 1, 0)
    assert value("stage_seconds", stage="enrich") == 80.0 and value("duration_seconds") == 90.0
    assert [value("tools_changed", change=change) for change in ("added", "changed", "removed")] == [2, 3, 4]
    assert (value("asked", generator="openai"), value("cost_usd"), value("failures")) == (5, 0.25, 5)
    assert value("last_success_timestamp_seconds") == moment.timestamp()
    assert value("ledger_bytes") == 4096
    assert "last_published" not in text  # it is not known


def test_labels_of_any_catalog_are_quoted(make_run: Make, tmp_path: Path) -> None:
    run = make_run(asked={'a "quoted"\nname\\': 1})
    text = write_textfile(tmp_path / "x.prom", run).read_text(encoding="utf-8")
    assert ("generator", 'a "quoted"\nname\\') in {label for _, labels in samples(text) for label in labels}


def test_the_file_is_replaced_whole_and_readable_by_the_collector(make_run: Make, tmp_path: Path) -> None:
    for outcome in ("published", "held"):
        file = write_textfile(tmp_path, make_run(outcome=outcome))
    assert [found.name for found in tmp_path.iterdir()] == ["quartermaster_office.prom"]
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_file_that_cannot_be_written_is_told_and_stops_nothing(
    make_run: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = MetricsSettings(textfile=Path("nowhere/x.prom"))
    announce(make_run(), NotifySettings(), metrics, tmp_path, tmp_path / "last.json")
    (told,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert told.startswith("the metrics could not be written: ") and "nowhere" in told
