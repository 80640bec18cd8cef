"""Find the files of a source that names many: a folder, or a pattern such as `registry/**/*.json`."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from unicodedata import normalize

from pipeline.errors import RunAborted
from pipeline.sentences import named
from pipeline.settings import CatalogSettings, SourceSettings
from pipeline.settings.files import NOT_TOOLS, UNLISTED, files_below, is_document
from pipeline.sources.formats.skills import is_skill_source

WILD = re.compile(r"[*?\[{]")


def sources_of(catalog: CatalogSettings) -> tuple[list[SourceSettings], list[int], list[str]]:
    """Return a catalog's sources, with one for each file in place of a folder or pattern; the place of each one's entry
    in the catalog; and notes on them.

    The files stand in the order of their paths. A source whose files cannot be had stays as it is. A file that several
    sources name is read once: by one that names nothing else, else by the first.
    """
    sources: list[SourceSettings] = []
    entries: list[int] = []
    notes: list[str] = []
    resolve = catalog.resolve
    single = [source.path for source in catalog.source if source.path and not names_many(catalog, source)]
    owners: dict[str, Path | None] = {os.path.realpath(resolve(path)): None for path in single}
    for entry, source in enumerate(catalog.source):
        paths: Sequence[Path | None] = [source.path]
        if source.path is not None and names_many(catalog, source):
            with suppress(RunAborted):  # reported when it is read
                files, left = files_of(catalog, source.path)
                by_place = sorted(files, key=lambda path: resolve(path).is_symlink())  # a file before the links to it
                own = {path for path in by_place if owners.setdefault(os.path.realpath(resolve(path)), path) is path}
                left += [f"{path.as_posix()!r} (it is named elsewhere too)" for path in files if path not in own]
                notes += [f"the source {source.path} leaves out {named(left)}"] if left else []
                paths = sorted(own)
        sources += [_labelled(catalog, source.model_copy(update={"path": path})) for path in paths]
        entries += [entry] * len(paths)
    return sources, entries, notes


def names_many(catalog: CatalogSettings, source: SourceSettings) -> bool:
    """Return whether a source's path is a folder that is read file by file, or a pattern: no file has that name."""
    if source.path is None or os.path.isdir(place := catalog.resolve(source.path)):
        return source.path is not None and source.format != "skills" and not is_skill_source(place)
    return WILD.search(str(source.path)) is not None and not os.path.lexists(place)


def files_of(catalog: CatalogSettings, path: Path) -> tuple[list[Path], list[str]]:
    """Return the files that a folder or pattern means, in order, and what it leaves out, with why.

    Raises RunAborted where there are none, or too many, or where a folder cannot be listed.
    """
    parts, fixed = Path(str(path).replace("\\", "/")).parts, 0  # as Windows writes it
    while parts[fixed:] and (not WILD.search(parts[fixed]) or catalog.resolve(Path(*parts[: fixed + 1])).is_dir()):
        fixed += 1
    base, pattern, last, most = Path(*parts[:fixed]), parts[fixed:], "".join(parts[-1:]), catalog.limits.files
    folder, found, left = catalog.resolve(base), list[Path](), list[str]()
    there = next(place for place in (folder, *folder.parents) if os.path.isdir(place))
    for below, why_not in files_below(folder, catalog.folder) if there == folder else ():
        fits = _fits(below.parts, pattern or ("**",))
        known = is_document(below) or (pattern and last.strip("*") and below.name not in {*NOT_TOOLS} - {last})
        if why_not == UNLISTED:
            raise RunAborted(f"the source {path} cannot be read: the folder {folder / below} cannot be listed")
        if why_not and (fits or os.path.isdir(folder / below)):
            left.append(f"{(base / below).as_posix()!r} ({why_not})")
        elif fits and known and not why_not:
            found.append(base / below)
        if len(found) > most:
            raise RunAborted(f"the source {path} names more than the {most:,} files of limits.files: narrow it")
    if not found:
        lies = sorted(repr(f"{one.name}/" if one.is_dir() else one.name) for one in there.iterdir())
        without = f"; left out: {named(left)}" if left else ""
        raise RunAborted(f"the source {path} names no file: {there} holds {named(lies, 8) or 'nothing'}{without}")
    return sorted(found), left


def _fits(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the parts of a path fit those of a pattern, of which `**` stands for any folders."""
    if not pattern or not path:
        return not path and set(pattern) <= {"**"}
    if pattern[0] == "**":
        return _fits(path, pattern[1:]) or _fits(path[1:], pattern)
    start, _, rest = normalize("NFC", pattern[0]).casefold().partition("{")
    choices, _, end = rest.partition("}")
    name = normalize("NFC", path[0]).casefold()
    return _fits(path[1:], pattern[1:]) and any(fnmatchcase(name, start + one + end) for one in choices.split(","))


def _labelled(catalog: CatalogSettings, source: SourceSettings) -> SourceSettings:
    """Return a source with the names of its folder and file in place of `{folder}` and `{file}` in its label."""
    if source.path is None or source.provider is None:
        return source
    place = Path(os.path.abspath(catalog.resolve(source.path)))
    folder = place if place.is_dir() else place.parent
    label = source.provider.replace("{folder}", folder.name).replace("{file}", place.stem)
    return source.model_copy(update={"provider": label})
