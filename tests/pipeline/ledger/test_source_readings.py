"""The last readings of sources in the ledger: which of them count, and which are forgotten."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from pipeline.ledger import LEDGER_FILE, Ledger
from pipeline.ledger.source_readings import SourceReadings
from pipeline.sources.last_reading import SourceReading
from tests.support.factories import make_raw


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path) as ledger:
        yield ledger


def _reading(key: str, *names: str) -> SourceReading:
    return SourceReading(key, f"{key}.json", tuple(make_raw(name) for name in names))


def of(ledger: Ledger, serving: str | None = None, area: str = "snapshots", catalog: str = "shop") -> SourceReadings:
    return ledger.source_readings(catalog, area, Path(serving) if serving else None)


def _names(ledger: Ledger, key: str, serving: str | None = None) -> list[str] | None:
    last = of(ledger, serving).find(key)
    return None if last is None else [tool.name for tool in last.reading.tools]


def _put(ledger: Ledger, snapshot: str, *readings: SourceReading, held: bool = False) -> None:
    of(ledger).store(1, readings, snapshot, held=held)


def test_a_reading_counts_once_its_snapshot_is_accepted_or_serves(ledger: Ledger) -> None:
    _put(ledger, "s1", _reading("a", "one"))
    assert _names(ledger, "a") is None and _names(ledger, "a", "s1") == ["one"]
    of(ledger).accept("s1", ["a"])
    assert _names(ledger, "a") == _names(ledger, "a", "s0") == ["one"]
    last = of(ledger).find("a")
    assert last is not None and timedelta() <= datetime.now(UTC) - last.read_at < timedelta(minutes=10)


def test_a_held_reading_waits_beside_the_accepted_one_and_the_next_held_one_replaces_it(ledger: Ledger) -> None:
    _put(ledger, "s1", _reading("a", "one"))
    of(ledger).accept("s1", ["a"])
    for number in (2, 3):
        _put(ledger, f"s{number}", _reading("a", f"held_{number}"), held=True)
    assert (_names(ledger, "a", "s1"), _names(ledger, "a", "s3")) == (["one"], ["held_3"])
    assert _names(ledger, "a", "s2") == ["one"]
    _put(ledger, "s1", _reading("a", "one"))  # a good night, in which nothing changed
    of(ledger).accept("s1", ["a"])
    assert _names(ledger, "a", "s3") == ["held_3"]
    of(ledger).accept("s3")
    assert _names(ledger, "a") == ["held_3"]


def test_a_source_that_failed_keeps_its_reading_and_one_that_is_gone_is_forgotten(ledger: Ledger) -> None:
    _put(ledger, "s1", _reading("a", "one"), _reading("b", "two"), _reading("c", "three"))
    of(ledger).accept("s1", ["a", "b", "c"])
    _put(ledger, "s2", _reading("a", "four"))  # b failed, c is in the catalog no longer
    of(ledger).accept("s2", ["a", "b"])
    assert [_names(ledger, key) for key in "abc"] == [["four"], ["two"], None]
    assert {one.source: one.tool_ids for one in of(ledger, "s2").known_sources()} == {
        one.source: frozenset(one.tool_ids) for one in (_reading("a", "four"), _reading("b", "two"))
    }


def test_readings_belong_to_a_catalog_and_an_area(ledger: Ledger) -> None:
    _put(ledger, "s1", _reading("a", "one"))
    of(ledger, area="evaluations").store(1, [_reading("a", "two")], "s1", held=False)
    of(ledger, catalog="mail").store(1, [_reading("a", "three")], "s1", held=False)
    of(ledger).accept("s1", ["a"])
    assert _names(ledger, "a") == ["one"]
    assert of(ledger, area="evaluations").find("a") is None
    assert of(ledger, catalog="mail").find("a") is None


def test_equal_content_is_stored_once_and_removed_with_its_last_reading(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        for number in range(5):
            _put(ledger, f"s{number}", _reading("a", "one"), _reading("b", "one"))
            of(ledger).accept(f"s{number}", ["a", "b"])
    counts = "SELECT (SELECT count(*) FROM source_readings), (SELECT count(*) FROM source_contents)"
    with duckdb.connect(str(tmp_path / LEDGER_FILE), read_only=True) as connection:
        assert connection.execute(counts).fetchall() == [(2, 1)]
    with Ledger.open(tmp_path) as ledger:
        _put(ledger, "s9", _reading("a", "two"))
        of(ledger).accept("s9", ["a"])
    with duckdb.connect(str(tmp_path / LEDGER_FILE), read_only=True) as connection:
        assert connection.execute(counts).fetchall() == [(1, 1)]


@pytest.mark.parametrize("content", ["'no gzip'::BLOB", "''::BLOB"])
def test_a_reading_that_cannot_be_read_is_none_and_that_is_noted(tmp_path: Path, content: str) -> None:
    with Ledger.open(tmp_path) as ledger:
        _put(ledger, "s1", _reading("a", "one"))
        of(ledger).accept("s1", ["a"])
    with duckdb.connect(str(tmp_path / LEDGER_FILE)) as connection:
        connection.execute(f"UPDATE source_contents SET content = {content}")
    noted: list[str] = []
    with Ledger.open(tmp_path) as ledger:
        assert ledger.source_readings("shop", "snapshots", None, noted.append).find("a") is None
    assert "cannot be used" in noted[0]


def test_a_write_that_fails_changes_nothing_and_leaves_the_ledger_usable(ledger: Ledger) -> None:
    _put(ledger, "s1", _reading("a", "one"))
    of(ledger).accept("s1", ["a"])
    with pytest.raises(duckdb.Error):
        of(ledger).store("no number", [_reading("a", "two")], "s2", held=False)  # type: ignore[arg-type]
    assert _names(ledger, "a", "s2") == ["one"] and ledger.start_run("shop") == 1
