"""Judged folders from public requests: which tools they hold, and which answers count."""

import json
from pathlib import Path

import pytest

from benchmarks import request_catalogs
from tests.support.rows import write_rows


def test_a_tool_of_the_same_name_and_text_is_as_right_as_the_one_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "tools" / "public"
    source.mkdir(parents=True)
    (tmp_path / "requests").mkdir()
    described = [("mail", "Send it."), ("mail", "Send it."), ("mail", "Read it."), ("post", "Print it.")]
    definitions = [
        {"id": str(place), "name": name, "description": text} for place, (name, text) in enumerate(described)
    ]
    write_rows(source / "tools.jsonl", definitions)
    asked = {"catalog": "public", "id": "1", "phrases": ["write to her"], "requests": ["mail her"]}
    write_rows(tmp_path / "requests" / "requests.jsonl", [asked])
    monkeypatch.setattr(request_catalogs, "FOLDERS", {"alone": ("public", 0, None, 0), "real": ("public", 0, None, 9)})
    arguments = ["request_catalogs", *(str(tmp_path / part) for part in ("requests", "tools", "out"))]
    monkeypatch.setattr("sys.argv", arguments)
    request_catalogs.main()
    judged = {
        name: json.loads((tmp_path / "out" / name / "queries.jsonl").read_text()) for name in request_catalogs.FOLDERS
    }
    assert judged["alone"]["acceptable"] == ["1"] and judged["real"]["acceptable"] == ["0", "1"]
    assert judged["real"]["groups"] == [["0", "1"]] and judged["real"]["required"] == ["1"]
    assert len((tmp_path / "out" / "real" / "tools.jsonl").read_text().splitlines()) == 4
