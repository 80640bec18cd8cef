"""Find the files below a folder that a build may read, and say why others are left out."""

import os
from collections.abc import Iterator
from pathlib import Path

CATALOG_FILE = "catalog.toml"
SKILL_FILES = ("SKILL.md", "skill.md")  # the first is how the specification writes it; agents read both
DOCUMENTS = (".json", ".jsonl", ".yaml", ".yml")
# What may lie beside tool definitions in the formats of this project.
EXPANSIONS_FILE, PHRASES_FILE = "expansions.jsonl", "phrases.jsonl"
NOT_TOOLS = (EXPANSIONS_FILE, PHRASES_FILE, "judgements.jsonl", "queries.jsonl", "usage.jsonl", "meta.json")
UNLISTED = "it cannot be listed"
OF_PROGRAMS = ("node_modules", "__pycache__")


def is_document(file: Path) -> bool:
    """Return whether a file's name is that of a document that may hold tools, and can be printed."""
    return file.suffix.lower() in DOCUMENTS and file.name not in NOT_TOOLS and file.name.isprintable()


def files_below(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files below a folder, relative to it, each with why it is left out: empty where it is not.

    What is hidden or of a program is passed over. Links to folders are not followed, links to files only to those below
    `folder` or `root`. A folder that cannot be listed is among them, with UNLISTED.
    """
    inside = tuple(os.path.join(os.path.realpath(place), "") for place in (folder, root))
    unlisted: list[OSError] = []
    for place, folders, files in os.walk(folder, onerror=unlisted.append):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in OF_PROGRAMS]
        for name in (*files, *folders):
            path, why_not = Path(place, name), ""
            if not name.isprintable():
                why_not = "its name cannot be printed"
            elif path.is_symlink():
                leads_out = not os.path.realpath(path).startswith(inside)
                why_not = "it leads out" if leads_out else "it is a link to a folder" if path.is_dir() else ""
            if why_not or (name in files and path.is_file() and not name.startswith(".")):
                yield path.relative_to(folder), why_not
    yield from ((Path(error.filename).relative_to(folder), UNLISTED) for error in unlisted)
