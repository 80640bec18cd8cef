"""Read the functions of a Python module, described in a process of its own."""

import os
import sys
from pathlib import Path

from pipeline.errors import RunAborted
from pipeline.module_tools import PROGRAM, module_files
from pipeline.settings import LimitsSettings, SourceSettings
from pipeline.sources.formats.document import Items
from pipeline.sources.last_reading import SourceReading
from pipeline.sources.naming import subject
from pipeline.sources.transport import fetch

_ROOT = str(Path(__file__).parents[2])


def read(source: SourceSettings, folder: Path, limits: LimitsSettings) -> Items:
    """Yield the tools of a source's module, which is looked for in the catalog's folder first.

    Raises Unavailable where its import takes too long, else RunAborted, which names the line that failed.
    """
    files = _files(source, folder)
    if not files:
        raise RunAborted(
            f"{subject(source)} is not there: no such module is in {folder} or installed beside quartermaster; "
            'PYTHONPATH in the source\'s env adds folders, as env = {PYTHONPATH = "src"}'
        )
    command = (sys.executable, "-P", "-B", "-c", PROGRAM, _ROOT, source.python, *files)
    with fetch.document(source.model_copy(update={"command": command}), folder, limits) as (path, _):
        reading = SourceReading.from_text("", "", path.read_text(encoding="utf-8"))
    yield from reading.tools
    yield from reading.rejected


def module_command(source: SourceSettings, folder: Path) -> tuple[str, ...]:
    """Return what a source's module runs, for approval: its name and files; empty where it is not there."""
    files = _files(source, folder)
    return ("Python module", source.python or "", *files) if files else ()


def _files(source: SourceSettings, folder: Path) -> tuple[str, ...]:
    own = source.env["PYTHONPATH"].get_secret_value().split(os.pathsep) if "PYTHONPATH" in source.env else []
    # As its process will look, which does not get this one's PYTHONPATH.
    left_out = {"", *os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    installed = [place for place in sys.path if place not in left_out]
    path = [*(str(folder.resolve() / place) for place in ("", *own)), *installed]
    return module_files((source.python or "").partition(":")[0], path)
