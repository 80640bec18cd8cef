"""The distribution: its name, its packages, its version, and the command that installs an extra."""

import re
from pathlib import Path

NAME = "tool-quartermaster"  # "quartermaster" is taken on the package index
PACKAGES = (
    "router",
    "pipeline",
    "flows",
    "quartermaster",
)  # each has a logger of its name, the parent of its modules' loggers
# The argument of pip. Becomes NAME once the distribution is published.
_SOURCE = "."


def install_command(extra: str) -> str:
    """Return the command that installs an extra, for the end of an error message."""
    where = " in a checkout of Quartermaster" if _SOURCE == "." else ""
    return f"pip install '{_SOURCE}[{extra}]'{where}"


def version() -> str:
    """Return the installed version, or that of a checkout that was not installed."""
    from importlib import metadata  # here, as it takes .02 s

    try:
        return metadata.version(NAME)
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[1] / "pyproject.toml"
        declared = re.search(r'^version = "(.+)"$', project.read_text("utf-8"), re.M) if project.is_file() else None
        return declared[1] if declared else "0+unknown"
