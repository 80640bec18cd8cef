"""To whom a provider label belongs where several sources claim it, and what the tools of the others are called."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.records import catalog_records
from pipeline.settings import CatalogSettings
from pipeline.sources import Reading, read
from pipeline.sources.last_reading import LastReading
from tests.pipeline.sources.reading import api, read_all

STRIPE = {"path": "stripe.json"}
STRANGER = {"path": "stranger.json"}
RECORDS = {"path": "records.jsonl", "format": "jsonl"}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    _document(tmp_path / "stripe.json", "listRefunds")
    _document(tmp_path / "stranger.json", "readBalances")
    _lines(tmp_path / "records.jsonl", {"name": "search", "provider": "stripe"}, {"name": "mail", "provider": "post"})
    return tmp_path


def _document(path: Path, operation: str, host: str = "api.stripe.com") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    document = api({f"/{operation}": {"get": {"operationId": operation}}}, servers=[{"url": f"https://{host}"}])
    path.write_text(json.dumps(document), encoding="utf-8")


def _lines(path: Path, *rows: dict[str, str]) -> None:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def _ids(reading: Reading) -> list[str]:
    return [record.tool_id for record in catalog_records(reading.tools).records]


def _again(folder: Path, ledger: Reading, *sources: dict[str, Any], **more: Any) -> Reading:
    before = {one.key: LastReading(one, datetime.now(UTC)) for one in ledger.by_source}
    return read(CatalogSettings(name="office", folder=folder, source=sources, **more), last_reading=before.get)


def test_a_label_belongs_to_the_first_source_and_another_that_claims_it_is_told_the_way_out(folder: Path) -> None:
    reading = read_all(folder, STRIPE, STRANGER)
    assert _ids(reading) == ["stranger-stripe/readBalances", "stripe/listRefunds"]
    assert not reading.coverage[0].notices
    assert reading.coverage[1].notices == (
        "the label 'stripe' belongs to stripe.json: 'stranger-stripe' stands in its place for 1 tool; where both are "
        "one vendor's, write provider = 'stripe' at both",
    )
    said = [{**one, "provider": "stripe"} for one in (STRIPE, STRANGER)]
    together = read_all(folder, *said)
    assert _ids(together) == ["stripe/listRefunds", "stripe/readBalances"]
    assert not any(one.notices for one in together.coverage)


@pytest.mark.parametrize(
    "sources",
    [
        [STRANGER, {**STRIPE, "provider": "stripe"}],  # what catalog.toml says counts before the order
        [{"path": "str*r.json"}, STRIPE],  # an entry that names a file counts before a pattern
        [{"path": "str*r.json", "provider": "{file}"}, {**STRIPE, "provider": "stranger"}],
    ],
)
def test_the_operators_word_goes_before_the_order(folder: Path, sources: list[dict[str, str]]) -> None:
    stranger, stripe = read_all(folder, *sources).tools
    assert (stranger.name, stripe.name) == ("readBalances", "listRefunds")
    assert stripe.provider == sources[1].get("provider", "stripe") and stranger.provider not in ("stripe", "stranger")


def test_a_record_takes_neither_the_label_nor_the_ids_of_another_source(folder: Path) -> None:
    _lines(
        folder / "records.jsonl",
        {"name": "search", "provider": "Stripe "},
        {"name": "find", "provider": "\u017ftripe"},  # a filter would fold it to the same
        {"name": "take", "provider": "post", "id": "STRIPE/listRefunds"},
        {"name": "mail", "provider": "post", "id": "post/send"},
    )
    reading = read_all(folder, RECORDS, {**STRIPE, "provider": "stripe"})
    assert _ids(reading) == [
        "post/send", "post/take", "records-Stripe/search", "records-tripe/find", "stripe/listRefunds"
    ]  # fmt: skip
    assert len(reading.coverage[0].notices) == 3


def test_the_files_of_one_entry_share_its_labels_and_their_other_name(folder: Path) -> None:
    _document(folder / "apis/core.json", "listCharges")
    _document(folder / "apis/more/issuing.json", "listCards")
    alone = read_all(folder, {"path": "apis/**"})
    assert _ids(alone) == ["stripe/listCards", "stripe/listCharges"]
    beside = read_all(folder, {"path": "apis/**"}, STRIPE)
    assert _ids(beside) == ["apis-stripe/listCards", "apis-stripe/listCharges", "stripe/listRefunds"]
    assert (
        beside.coverage[0]
        .notices[0]
        .endswith("give the file an entry of its own and write provider = 'stripe' at both")
    )


def test_another_name_depends_on_no_order(folder: Path) -> None:
    for place in ("a/stripe.json", "b/stripe.json", "b/stripe-cards.json"):
        _document(folder / place, "list")
    others = [{"path": path} for path in ("a/stripe.json", "b/stripe.json", "b/stripe-cards.json")]
    named = ["a-stripe/list", "b-stripe/list", "stripe-cards/list", "stripe/listRefunds"]
    first = {**STRIPE, "provider": "stripe"}
    assert _ids(read_all(folder, first, *others)) == _ids(read_all(folder, *reversed(others), first)) == sorted(named)


def test_a_label_that_was_held_is_kept_when_another_claims_it_from_before(folder: Path) -> None:
    _document(folder / "stranger.json", "readBalances", "api.weather.dev")
    before = read_all(folder, STRANGER, STRIPE)
    assert _ids(before) == ["stripe/listRefunds", "weather/readBalances"]
    _document(folder / "stranger.json", "readBalances")
    night = _again(folder, before, STRANGER, STRIPE)
    assert _ids(night) == ["stranger-stripe/readBalances", "stripe/listRefunds"]
    assert _ids(_again(folder, night, STRANGER, STRIPE)) == _ids(night)  # what stands in the ledger is what was decided


def test_a_source_that_moves_keeps_its_label_before_one_that_was_refused_it(folder: Path) -> None:
    before = read_all(folder, STRIPE, STRANGER)
    (folder / "stripe.json").rename(folder / "payments.json")
    assert _ids(_again(folder, before, STRANGER, {"path": "payments.json"})) == _ids(before)


@pytest.mark.parametrize("content", [None, "[]"])
def test_a_label_is_kept_while_its_source_is_away(folder: Path, content: str | None) -> None:
    before = read_all(folder, STRIPE, STRANGER)
    if content is None:
        (folder / "stripe.json").unlink()
    else:
        (folder / "stripe.json").write_text(content, encoding="utf-8")
    away = _again(folder, before, STRIPE, STRANGER, sources={"skip_unreadable": True, "max_age": "0s"})
    assert _ids(away) == ["stranger-stripe/readBalances"]


def test_a_label_that_catalog_toml_gives_is_kept_though_its_source_was_never_read(folder: Path) -> None:
    gone = {"path": "gone.json", "provider": "stripe"}
    assert _ids(read_all(folder, STRANGER, gone, sources={"skip_unreadable": True})) == ["stranger-stripe/readBalances"]
