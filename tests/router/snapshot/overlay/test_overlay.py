"""The overlay as a value, and on disk."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.errors import SettingsInvalid, SnapshotInvalid
from router.fingerprint import fingerprint
from router.snapshot.overlay import Overlay
from router.snapshot.overlay.storage import load_overlay, save_overlay
from tests.router.snapshot.overlay.small_catalogs import record

START, STOP = record("start_meeting"), record("stop_meeting")


def test_what_is_said_last_of_a_tool_holds_and_each_method_gives_another_overlay() -> None:
    empty = Overlay()
    one = empty.registered([START])
    two = one.removed([START.tool_id])
    assert not empty and list(one.tools) == ["zoom/start_meeting"]
    assert not two.tools and two.gone == {"zoom/start_meeting"}
    again = two.registered([START])
    assert list(again.tools) == [START.tool_id] and not again.gone


def test_a_list_drops_what_its_source_had_registered_and_takes_what_is_registered_later() -> None:
    other = record("start_meeting", "teams")
    overlay = Overlay().registered([START, other], source="zoom").registered([record("mail", None)], source="mail")
    # Of the source "zoom" or of its provider: the tool of "teams" came from "zoom" as well.
    listed = overlay.replaced("zoom", [STOP])
    assert sorted(listed.tools) == ["mail", "zoom/stop_meeting"]
    assert listed.registered([START]).lists == {"zoom": {START.tool_id, STOP.tool_id}}


def test_phrases_are_cleaned_and_stay_with_a_tool_that_is_registered_again_without() -> None:
    texts: Any = (text for text in ("  call the\nteam ", "", "call the team", "dial in"))
    overlay = Overlay().registered([START], phrases={START.tool_id: texts})
    overlay = overlay.registered([record("start_meeting", description="New.")])
    assert overlay.tools[START.tool_id].phrases == ("call the team", "dial in")


def test_equal_overlays_have_one_revision_and_an_empty_one_has_none() -> None:
    one, other = Overlay().registered([START, STOP]), Overlay().registered([STOP]).registered([START])
    assert one.revision == other.revision != Overlay().registered([START]).revision
    assert Overlay().revision == ""


NOT_TEXTS = "must be a list of texts"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *(
            (lambda overlay, phrases=phrases: overlay.registered([START], phrases=phrases), said)
            for phrases, said in (
                ({"zoom/none": ["x"]}, "phrases for 'zoom/none', which is not among the tools"),
                *(({START.tool_id: texts}, NOT_TEXTS) for texts in ("call", [3], None, 5)),
                (["call"], r"phrases are \['call'\], they must be lists of texts by tool id"),
                ({START.tool_id: [*map(str, range(33))]}, "33 phrases, it may have 32"),
            )
        ),
        (lambda overlay: overlay.replaced(" ", [START]), "the source is ' ', it must be a name"),
        (lambda overlay: overlay.registered([START], " "), "the source is ' ', it must be a name"),
        (lambda overlay: overlay.removed("zoom/x"), "the ids are 'zoom/x', they must be a list"),
        (lambda overlay: overlay.removed(None), "the ids are None, they must be a list"),
        (lambda overlay: overlay.removed([3]), "the id 3 is not a text"),
        (lambda overlay: overlay.registered([START, START]), "two tools have the id 'zoom/start_meeting'"),
    ],
)
def test_what_is_no_change_is_refused_by_name(change: Callable[[Overlay], Overlay], said: str) -> None:
    with pytest.raises(SettingsInvalid, match=said):
        change(Overlay())


# Anything that JSON can say, half surrogate pairs and NUL aside: `record_of` lets none in.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)


@given(
    st.lists(texts.filter(str.strip), max_size=4, unique=True), st.lists(texts, max_size=3), st.lists(texts, max_size=2)
)
def test_what_is_saved_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], gone: list[str], phrases: list[str]
) -> None:
    path = tmp_path_factory.mktemp("overlay") / "overlay.json"
    records = [record(name, description=name) for name in names]
    said = {records[0].tool_id: phrases} if records else {}
    overlay = Overlay().removed(gone).registered(records[:2], "zoom", said).replaced("teams", records[2:])
    save_overlay(overlay, path)
    assert load_overlay(path) == overlay
    assert os.listdir(path.parent) == [path.name]


def test_a_save_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "overlay.json"
    save_overlay(Overlay().registered([START]), path)

    def full(_: int) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        save_overlay(Overlay(), path)
    monkeypatch.undo()
    assert list(load_overlay(path).tools) == [START.tool_id]
    assert os.listdir(tmp_path) == [path.name]


def _changed(change: dict[str, Any], sign: bool = True) -> Any:
    def spoil(path: Path) -> None:
        row = json.loads(path.read_text()) | change
        if sign:
            row["checksum"] = fingerprint({name: row[name] for name in ("tools", "gone", "lists")})
        path.write_text(json.dumps(row))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.unlink(), "does not exist: `save_overlay` writes"),
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "cannot be read"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "cannot be read"),
        (lambda path: path.write_text(path.read_text().replace("Does", "Dose")), "its checksum does not match"),
        (_changed({"gone": ["x"]}, sign=False), "its checksum does not match"),
        (_changed({"format": 2}), "format 2, this router reads format 1"),
        (_changed({"more": 1}), "unknown field `more`"),
        (_changed({"tools": [{"record": {"tool_id": 3}}]}), r"Expected `str`, got `int` - at `\$.tools\[0\].record"),
    ],
)
def test_a_file_that_is_no_overlay_is_refused_with_the_reason(tmp_path: Path, spoil: Any, said: str) -> None:
    path = tmp_path / "overlay.json"
    save_overlay(Overlay().registered([START]), path)
    spoil(path)
    with pytest.raises(SnapshotInvalid, match=said) as refused:
        load_overlay(path)
    assert str(path) in str(refused.value)
