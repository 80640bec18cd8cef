"""The functions of a Python module as a source: as `from_tools` reads them, in a process of their own, once allowed."""

import importlib
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import CommandNotRun, RunAborted, SettingsInvalid, Unavailable
from pipeline.module_tools import PROGRAM
from pipeline.settings import load
from pipeline.sources import read
from pipeline.sources.last_reading import LastReading, SourceReading
from pipeline.sources.transport.approval import permissions_of, require_approved, without_commands
from router.tools.definitions.raw_tool import normalize
from router.tools.functions.reading import read_tools
from tests.pipeline.sources.reading import read_one, stop_one
from tests.support.places import ROOT
from tests.support.quick import QUICK

SHOP = '''
import datetime, os, pathlib, threading
from dataclasses import dataclass
from json import dumps

pathlib.Path("imported").touch()
print("noise")
threading.Thread(target=threading.Event().wait).start()

@dataclass
class Money:
    """An amount."""
    cents: int

def refund(charge: str, on: datetime.date, amount: Money | None = None) -> Money:
    """Give money back."""

async def ask(question: str) -> str:
    """Ask a person."""

def _hidden() -> None: ...

OTHERS = [ask, lambda x: x, {"id": "x", "name": "bare", "parameters": {"type": "object", "properties": {"a": {}}}}]
BY_PROVIDER = {"desk": [ask]}
KEY = os.environ.get("KEY")
again = refund
'''
FAILS = {
    "import nowhere_to_be_found": r"line 1: ModuleNotFoundError: .*; install it beside quartermaster, or .*PYTHONPATH",
    "import os\n\nos.environ['KEY']": "line 3: KeyError: 'KEY'; .*: env of the source hands a variable on",
    "def f(:": "line 1: SyntaxError: invalid syntax$",
    "raise SystemExit('bye')": "line 1: SystemExit: bye",
    "from json import dumps": "it defines no public function: name a list of tools, 'shop.tools:TOOLS'",
    "__all__ = ['gone']": "it has no 'gone'",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "tools.py").write_text(SHOP, encoding="utf-8")
    return tmp_path


def ids(folder: Path, **source: Any) -> list[str]:
    return [normalize(tool).tool_id for tool in read_one(folder, **source).tools]


def test_ids_and_contents_are_those_of_from_tools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("threading.Thread.start", lambda thread: None)
    module = importlib.import_module("shop.tools")
    try:
        for provider in (None, "shop"):
            wanted = read_tools([module.refund, module.ask], provider).records
            found = [normalize(tool) for tool in read_one(folder, python="shop.tools", provider=provider).tools]
            assert [record.content() for record in found] == [record.content() for record in wanted]
            assert [record.tool_id for record in found] == [record.tool_id for record in wanted]
    finally:
        for name in ("shop", "shop.tools"):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "more", "found"),
    [
        ("shop.tools:refund", "", ["refund"]),
        ("shop.tools:OTHERS", "", ["ask", "bare"]),
        ("shop.tools:BY_PROVIDER", "", ["desk/ask"]),
        ("shop.tools", "__all__ = ['ask', 'dumps', 'Money', 'KEY']", ["ask", "dumps"]),
    ],
)
def test_a_name_or_all_says_which_are_tools(folder: Path, name: str, more: str, found: list[str]) -> None:
    (folder / "shop" / "tools.py").write_text(f"{SHOP}{more}", encoding="utf-8")
    assert ids(folder, python=name) == found


def test_what_is_no_tool_is_rejected_by_place_and_the_others_are_read(folder: Path) -> None:
    (rejected,) = read_one(folder, python="shop.tools:OTHERS").rejected
    assert str(rejected).startswith("shop.tools:OTHERS tools[1]: a lambda has no name")


@pytest.mark.parametrize(("text", "said"), FAILS.items(), ids=FAILS)
def test_a_module_that_fails_is_told_with_its_line_and_a_way_out(folder: Path, text: str, said: str) -> None:
    (folder / "shop" / "tools.py").write_text(text, encoding="utf-8")
    place = "shop/tools.py, " if said.startswith("line") else ""
    error = stop_one(folder, python="shop.tools")
    assert str(error).startswith("the Python source 'shop.tools' ended with exit code 1: ")
    with pytest.raises(RunAborted, match=f": {place}{said}"):
        raise error


def test_a_module_that_is_nowhere_or_takes_too_long_cannot_be_read(folder: Path) -> None:
    assert "'shop.gone' is not there" in str(stop_one(folder, python="shop.gone"))
    (folder / "slow.py").write_text("import time\ntime.sleep(60)", encoding="utf-8")
    assert isinstance(stop_one(folder, python="slow", timeout_s=0.3), Unavailable)
    (folder / "src").mkdir()
    (folder / "src" / "inner.py").write_text("def act() -> None: ...", encoding="utf-8")
    assert ids(folder, python="inner", env={"PYTHONPATH": "src"}) == ["act"]


def test_other_files_than_those_that_were_allowed_are_not_run(folder: Path) -> None:
    command = [sys.executable, "-P", "-c", PROGRAM, str(ROOT), "shop.tools", "elsewhere.py"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "") and "allowed were elsewhere.py" in ended.stderr
    assert not (folder / "imported").exists()


def test_it_is_imported_once_allowed_and_asked_for_anew_when_a_file_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    (folder / "catalog.toml").write_text('[[source]]\npython = "shop.tools"\n', encoding="utf-8")
    settings = load(folder, QUICK, environment={})
    files = rf'"shop.tools", "{folder}/shop/__init__.py", "{folder}/shop/tools.py"'
    with pytest.raises(SettingsInvalid, match=rf'\["Python module", {files}\] in {folder}'):
        require_approved(settings)
    with pytest.raises(CommandNotRun, match=r"the Python source 'shop\.tools' was not run"):
        read(without_commands(settings))
    assert not (folder / "imported").exists() and not permissions_of(without_commands(settings))
    require_approved(settings, allow=True)
    reading = read(settings)
    assert (folder / "imported").exists() and not list(folder.rglob("__pycache__"))
    (folder / "shop" / "__init__.py").write_text("import nowhere_to_be_found", encoding="utf-8")
    with pytest.raises(SettingsInvalid, match="nobody has allowed"):
        require_approved(settings)

    def last(key: str) -> LastReading:
        text = reading.by_source[0].to_text()
        return LastReading(SourceReading.from_text(key, "shop.tools", text), datetime.now(UTC))

    assert [stale.tools for stale in read(settings, last_reading=last).stale] == [2]
