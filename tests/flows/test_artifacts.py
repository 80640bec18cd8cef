"""What a build leaves on the Prefect server, of real builds, without a server."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flows import artifacts
from pipeline.build import build
from pipeline.settings import load
from tests.support.quick import QUICK


def _keep(left: dict[str, Any], data: Any, *, key: str, **_: Any) -> None:
    left[key] = data


def test_a_build_leaves_word_of_its_sources_its_records_and_of_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: dict[str, Any] = {}
    for kind in ("markdown", "table", "link"):
        monkeypatch.setattr(artifacts, f"create_{kind}_artifact", partial(_keep, left))
    folder = tmp_path / "mail"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.json").write_text(json.dumps([{"name": f"send_{number}"}]), encoding="utf-8")
    (folder / "empty.json").write_text("[]", encoding="utf-8")
    (folder / "broken.json").write_text("{", encoding="utf-8")
    (folder / "odd.json").write_text('[{"name": 7}]', encoding="utf-8")
    chosen = {**QUICK, "sources": {"skip_unreadable": True}, "publish": {"max_rejected_share": 0.1}}

    def built() -> None:
        left.clear()
        artifacts.show_build("mail", build(load(folder, chosen, environment={}), workspace=tmp_path / "ws"))

    built()
    assert "| sources | 8, 1 skipped, 1 empty |" in left["build-mail"] and "| rejected | 1 |" in left["build-mail"]
    assert "Held back: `16.7% of the records were rejected" in left["build-mail"]
    (skipped,) = left["skipped-mail"]
    assert skipped["source"] == "broken.json" and "is not readable JSON" in skipped["reason"]
    assert left["empty-mail"] == [{"source": "empty.json", "serving_tools": 0}]
    assert left["rejected-mail"] == [{"file": "odd.json", "place": "/0", "reason": "name is a number, not a text"}]
    first = left["coverage-mail"][0]  # sources with problems come first
    assert first["problems"] and first["source"] in ("empty.json", "odd.json")
    assert "changes-mail" not in left  # in the first build all tools are new

    (folder / "odd.json").unlink()
    built()
    (folder / "0.json").write_text('[{"name": "write_0"}]', encoding="utf-8")
    (folder / "1.json").write_text("{", encoding="utf-8")
    built()
    assert "| sources | 7, 1 stale, 1 skipped, 1 empty |" in left["build-mail"]
    assert left["changes-mail"] == [
        {"tool": "0/send_0", "change": "removed"},
        {"tool": "0/write_0", "change": "added"},
    ]
    (stale,) = left["stale-mail"]
    assert (stale["source"], stale["tools"]) == ("1.json", 1) and "is not readable JSON" in stale["reason"]
