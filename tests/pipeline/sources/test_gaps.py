"""Sources that cannot be read or hold nothing: all are told at once, and skipped only where the settings say so."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import CatalogSettings
from pipeline.sources import Reading, read
from pipeline.sources.coverage import Gap, empties
from tests.pipeline.sources.web import Web

GOOD = json.dumps([{"name": "send_mail", "description": "Sends a mail."}])
BAD: dict[str, tuple[str, str | bytes | None, str]] = {
    "not JSON": ("broken.json", "{bad", "is not readable JSON"),
    "no known format": ("package.json", '{"x": 1}', "is no known format"),
    "empty": ("empty.yaml", "", "is empty"),
    "not UTF-8": ("latin.json", b'{"name": "caf\xe9"}', "is not UTF-8 text: byte 13 is 0xe9"),
    "missing": ("missing.json", None, "does not exist"),
}


def _catalog(folder: Path, files: dict[str, str | bytes | None], skip: bool = False, **more: Any) -> CatalogSettings:
    for name, content in files.items():
        if content is not None:
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    source = ({"path": name} for name in files)
    return CatalogSettings(name="mail", folder=folder, source=tuple(source), sources={"skip_unreadable": skip}, **more)


def _files(*kinds: str) -> dict[str, str | bytes | None]:
    return {"good.json": GOOD, **{BAD[kind][0]: BAD[kind][1] for kind in kinds}}


def _stop(catalog: CatalogSettings) -> RunAborted:
    with pytest.raises(RunAborted) as stopped:
        read(catalog)
    return stopped.value


def _skipped(reading: Reading) -> dict[str, str]:
    return {gap.source: gap.reason for gap in reading.gaps if gap.skipped}


def test_every_source_that_cannot_be_read_is_told_in_one_error(tmp_path: Path) -> None:
    message = str(_stop(_catalog(tmp_path, _files(*BAD))))
    assert message.startswith("5 of 6 sources cannot be read:\n  the source ")
    for name, _, reason in BAD.values():
        assert any(str(tmp_path / name) in line and reason in line for line in message.splitlines())
    assert message.endswith("or build without them: --skip-unreadable (sources.skip_unreadable)")


def test_one_of_several_is_told_with_the_way_out(tmp_path: Path) -> None:
    told, way_out = str(_stop(_catalog(tmp_path, _files("not JSON")))).splitlines()
    assert told.startswith(f"the source {tmp_path / 'broken.json'} is not readable JSON: ")
    assert way_out == "mend this, or build without it: --skip-unreadable (sources.skip_unreadable)"


def test_what_cannot_be_read_is_skipped_with_its_reason_where_the_settings_say_so(tmp_path: Path) -> None:
    reading = read(_catalog(tmp_path, _files(*BAD), skip=True))
    assert [tool.name for tool in reading.tools] == ["send_mail"] and reading.sources == 6
    assert _skipped(reading).keys() == {name for name, _, _ in BAD.values()}
    assert all(reason in _skipped(reading)[name] for name, _, reason in BAD.values())


def test_where_nothing_can_be_read_there_is_nothing_to_go_on_with(tmp_path: Path) -> None:
    files = {name: content for name, content in _files(*BAD).items() if name != "good.json"}
    for skip in (True, False):
        message = str(_stop(_catalog(tmp_path, files, skip=skip)))
        assert "5 of 5 sources cannot be read" in message and "--skip-unreadable" not in message


def test_a_source_without_a_tool_is_empty_and_one_whose_records_were_all_rejected_is_not(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {"good.json": GOOD, "none.json": '{"tools": []}', "blank.jsonl": "\n"}
    reading = read(_catalog(tmp_path, {**files, "nameless.json": '[{"name": 7}]'}))
    assert [gap.source for gap in reading.gaps] == ["none.json", "blank.jsonl"]
    assert len(reading.rejected) == 1 and not any(gap.skipped for gap in reading.gaps)


def test_a_few_empty_sources_are_named_and_all_are_counted() -> None:
    gaps = [Gap(f"{number}.json", f"{number}.json") for number in range(5)]
    assert empties(gaps, 20) == "5 of 20 sources hold no tool: 0.json, 1.json, 2.json and 2 more"
    assert empties([Gap("a", "a", "why")], 20) == ""


def test_servers_that_may_answer_later_make_an_error_that_may_pass(web: Web, tmp_path: Path) -> None:
    busy = {"url": web.page("", status=503), "format": "openapi"}
    gone = {"url": web.page("", status=404), "format": "openapi"}
    for sources, kind in (((busy, busy), Unavailable), ((busy, gone), RunAborted)):
        assert type(_stop(CatalogSettings(name="web", folder=tmp_path, source=sources))) is kind
