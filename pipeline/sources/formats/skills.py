"""Read agent skills: a folder of folders that each hold a SKILL.md, or one such file.

A SKILL.md is YAML frontmatter (`name`, `description`, …) between lines of `---`, and instructions in Markdown below.
Source of the format: agentskills.io/specification.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from pipeline.errors import RecordRejected, RunAborted
from pipeline.settings import LimitsSettings
from pipeline.settings.files import OF_PROGRAMS, SKILL_FILES
from pipeline.sources.formats.document import DEFAULT_LIMITS, Items, read_text
from pipeline.sources.formats.yaml_values import parse_yaml
from router.record import Kind, Origin
from router.tools.definitions.raw_tool import FieldReader, RawTool

MAX_INSTRUCTIONS = 100_000  # characters; the specification advises fewer than 5,000 tokens
_MAX_FILES = 100  # of one skill that its record names
_MAX_DEPTH = 8  # levels of folders
_HIDDEN = "disable-model-invocation"
_WHEN = "when_to_use"  # Claude Code's: it stands behind the description in what a model chooses from
_OWN = ("name", "description", _HIDDEN, _WHEN, "files", "readOnlyHint")  # no annotations, or set here
_FRONTMATTER = re.compile(r"\A---[ \t]*\n(.*?\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)
_OPENED = re.compile(r"\A---[ \t]*\n")
_ENTRY = re.compile(r"^(?=[A-Za-z][\w-]*:(?:[ \t]|$))", re.MULTILINE)
_BLOCK_MARK = re.compile(r"\A[|>][+-]?\d?[ \t]*\n")


def is_skill_source(path: Path) -> bool:
    """Return whether a path is a SKILL.md, or a folder with one in it or in a folder below."""
    return path.name in SKILL_FILES if not path.is_dir() else next(_skill_files(path), None) is not None


def read(path: Path, limits: LimitsSettings = DEFAULT_LIMITS) -> Items:
    """Yield the skills below a folder, by path. Raises RunAborted where there is none, or the folder is missing."""
    if not path.is_dir():
        yield _skill(path, Origin(path.name, ""), limits)
        return
    found = False
    for file in _skill_files(path):
        found = True
        origin = Origin(file.relative_to(path).as_posix(), "")
        try:
            yield _skill(file, origin, limits)
        except RecordRejected as rejected:
            yield rejected
        except RunAborted as error:  # one that cannot be read costs only itself
            yield RecordRejected(origin, str(error))
    if not found:
        raise RunAborted(f"the source {path} holds no {SKILL_FILES[0]}: each skill is a folder with one")


def _skill_files(folder: Path) -> Iterator[Path]:
    """Yield the SKILL.md files of a folder by path. What lies within a skill's own folder is part of that skill."""
    seen: set[str] = set()  # links to folders are followed, each place once
    for place, folders, files in _walk(folder, follow_links=True):
        if (real := os.path.realpath(place)) in seen:
            folders.clear()
            continue
        seen.add(real)
        if name := next((name for name in SKILL_FILES if name in files), None):
            yield place / name
            if place != folder:
                folders.clear()


def _walk(folder: Path, *, follow_links: bool = False) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Walk as `os.walk` does, in order, to a depth, without hidden folders and those of programs."""
    for place, folders, files in os.walk(folder, followlinks=follow_links):
        if len(Path(place).relative_to(folder).parts) >= _MAX_DEPTH:
            folders.clear()
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in OF_PROGRAMS)
        yield Path(place), folders, sorted(files)


def _skill(file: Path, origin: Origin, limits: LimitsSettings) -> RawTool:
    """Return the skill of a file. Raises RecordRejected where models may not use it, or a field has a wrong type."""
    # A stranger's folder could link to any file of this machine, whose text models would then be given.
    real = file.resolve()
    if real.name not in SKILL_FILES:
        raise RecordRejected(origin, "it is a link to a file of another name: put the text itself there")
    if real.exists() and not real.is_file():
        raise RecordRejected(origin, "it is not a plain file")
    text = read_text(file, limits)
    try:
        fields, instructions, notices = _split_frontmatter(text, limits)
    except ValueError as error:
        raise RecordRejected(origin, str(error)) from error
    reader = FieldReader(fields, origin)
    if str(fields.get(_HIDDEN)).strip().lower() in ("true", "yes", "on"):
        raise RecordRejected(origin, f"models do not choose it: {_HIDDEN} is true")
    description = reader.text("description").strip()
    if not description:
        # The first paragraph that is not a heading, on one line.
        paragraphs = (" ".join(part.split()) for part in instructions.split("\n\n"))
        description = next((part for part in paragraphs if part and not part.startswith("#")), "")
        notices.append("it has no description: its first paragraph stands in")
    if not description:
        raise RecordRejected(origin, "it has neither a description nor instructions", keys=tuple(fields))
    if isinstance(fields.get(_WHEN), str):
        description = f"{description} {reader.text(_WHEN).strip()}".strip()
    if (length := len(instructions)) > MAX_INSTRUCTIONS:
        notices.append(f"its instructions have {length:,} characters: the first {MAX_INSTRUCTIONS:,} are kept")
    annotations = {name: value for name, value in fields.items() if name not in _OWN}
    if files := _other_files(file.parent):
        annotations["files"] = files
    return RawTool(
        name=reader.text("name").strip() or real.parent.name,
        origin=origin,
        description=description,
        annotations={**annotations, "readOnlyHint": True},
        kind=Kind.SKILL,
        instructions=instructions[:MAX_INSTRUCTIONS],
        notices=tuple(notices),
    )


def _other_files(folder: Path) -> list[str]:
    """Return the names of a skill's other files, relative to its folder, which its instructions may tell to read."""
    names: list[str] = []
    for place, _, files in _walk(folder):
        names += [(place / name).relative_to(folder).as_posix() for name in files if not name.startswith(".")]
        if len(names) > _MAX_FILES:
            break
    return [name for name in names if name not in SKILL_FILES][:_MAX_FILES]


def _split_frontmatter(text: str, limits: LimitsSettings) -> tuple[dict[str, Any], str, list[str]]:
    """Return the fields of the frontmatter, the text below it, and notices.

    Frontmatter that is not YAML, such as `description: Use when: …` or `argument-hint: [a] [b]`, which agents accept,
    is read field by field. Raises ValueError where it has no end.
    """
    text = text.lstrip()
    match = _FRONTMATTER.match(text)
    if match is None:
        if _OPENED.match(text) and _ENTRY.search(text):
            raise ValueError("its frontmatter has no end: close it by a line of ---")
        return {}, text.strip(), ["it has no frontmatter"]
    written, below = match[1] or "", text[match.end() :].strip()
    try:
        return _object(written, limits), below, []
    except (yaml.YAMLError, ValueError):
        fields: dict[str, Any] = {}
        for entry in _ENTRY.split(written):
            fields |= _field(entry, limits) if _ENTRY.match(entry) else {}  # something may stand before the first
        return fields, below, ["its frontmatter is not YAML: it was read field by field"]


def _field(entry: str, limits: LimitsSettings) -> dict[str, Any]:
    """Return one field of broken frontmatter by its name: its value where that is YAML, else its text on one line."""
    try:
        return _object(entry, limits)
    except (yaml.YAMLError, ValueError):
        name, _, value = entry.partition(":")
        text = " ".join(_BLOCK_MARK.sub("", value.lstrip(" \t")).split())
        quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
        return {name: text[1:-1] if quoted else text}


def _object(text: str, limits: LimitsSettings) -> dict[str, Any]:
    value = parse_yaml(text, limits)
    return value if isinstance(value, dict) else {}
