"""The distribution that these packages come in: its name, its version, and how an extra of it is installed."""

import re
from pathlib import Path

NAME = "tool-quartermaster"  # on the package index, "quartermaster" is somebody else's
# What pip is given. Once the distribution is published this is NAME, and nothing else changes.
_SOURCE = "."


def install_command(extra: str) -> str:
    """Return what installs an extra, as a hint ends with it."""
    where = " in a checkout of Quartermaster" if _SOURCE == "." else ""
    return f"pip install '{_SOURCE}[{extra}]'{where}"


def version() -> str:
    """Return the version that is installed, or that of a checkout that was not installed."""
    from importlib import metadata  # .02 s, which importing the router need not take

    try:
        return metadata.version(NAME)
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[1] / "pyproject.toml"
        declared = re.search(r'^version = "(.+)"$', project.read_text("utf-8"), re.M) if project.is_file() else None
        return declared[1] if declared else "0+unknown"
