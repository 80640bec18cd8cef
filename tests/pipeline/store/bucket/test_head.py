"""What CURRENT of a bucket holds, as bytes."""

import json
from dataclasses import replace

import pytest

from router.errors import SnapshotInvalid
from router.fingerprint import fingerprint
from router.snapshot.store.bucket.head import Head
from router.snapshot.store.state import Pin, StoreState

HEAD = Head(
    "né", StoreState(sequence=7, pin=Pin("a", "ops")), "signed", 3, ("change",), {"b": "2026-01-01"}, {"b": "x"}
)


def test_it_is_read_as_it_was_written_and_a_changed_byte_is_told_by_the_checksum() -> None:
    assert Head.from_json(HEAD.to_json(), "CURRENT") == HEAD
    with pytest.raises(SnapshotInvalid, match="CURRENT is damaged: its checksum does not match its content"):
        Head.from_json(HEAD.to_json().replace(b'"sequence": 7', b'"sequence": 3'), "CURRENT")


def test_an_earlier_one_has_no_checksum_and_the_keys_of_a_later_one_count_in_it_and_are_ignored() -> None:
    raw = json.loads(HEAD.to_json()) | {"later": 1}
    with pytest.raises(SnapshotInvalid, match="checksum"):
        Head.from_json(json.dumps(raw).encode(), "CURRENT")
    del raw["checksum"]
    assert Head.from_json(json.dumps({**raw, "checksum": fingerprint(raw)}).encode(), "CURRENT") == HEAD
    del raw["going"]
    assert Head.from_json(json.dumps(raw).encode(), "CURRENT") == replace(HEAD, going={})
