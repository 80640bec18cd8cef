"""examples/call_openapi.py: an API's operations, found by request and called with a key."""

from pathlib import Path

from tests.examples.conftest import Run
from tests.support.places import ROOT


def test_reading_is_called_and_writing_waits_for_the_settings(run: Run, folder: Path) -> None:
    printed = run("call_openapi.py")
    page = (ROOT / "docs" / "calling.md").read_text(encoding="utf-8")
    assert f"```text\n{printed}```" in page  # the page shows this run
    assert printed.splitlines()[-1] == 'bakery/place_order {"customer":"Ada & Co","product":"rye","pieces":2}'
    written = [path for path in (folder / ".quartermaster").rglob("*") if path.is_file()]
    assert written and not [path for path in written if b"crust-and-crumb" in path.read_bytes()]
