"""Loads settings from a catalog's folder or file, the environment and the arguments of a call."""

import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from pipeline.errors import SettingsInvalid
from pipeline.settings.base import Section
from pipeline.settings.catalog import CatalogSettings
from pipeline.settings.monitoring import MetricsSettings, NotifySettings
from pipeline.settings.problems import Place, problems
from router.tools.definitions.json_values import check_depth, parse_json

S = TypeVar("S", bound=Section)
CATALOG_FILE = "catalog.toml"
SKILL_FILES = ("SKILL.md", "skill.md")  # the first is how the specification writes it; agents read both
_MAX_DEPTH = 50  # real settings have five levels
_MAX_DOTS = 500  # on one line; tomllib takes quadratic time and memory for dotted keys
_PREFIX = "QUARTERMASTER_"
# What may lie beside tool definitions in the formats of this project.
_NOT_TOOLS = ("expansions.jsonl", "judgements.jsonl", "queries.jsonl", "usage.jsonl", "meta.json")
_DOCUMENTS = (".json", ".jsonl", ".yaml", ".yml")
# What may hold tools too, and is not read of itself.
_OTHER_DATA = (".ndjson", ".json5", ".jsonc", ".csv", ".tsv")
# The settings that are options of the command line too.
OPTIONS = {
    ("sources", "skip_unreadable"): "--skip-unreadable",
    ("enrichment", "generator"): "--generator",
    ("enrichment", "max_cost_usd"): "--max-cost",
    ("enrichment", "max_tools"): "--max-tools",
    ("enrichment", "mode"): "--batch",
    ("vectors", "encoder"): "--encoder",
}


def load(
    path: Path,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    environment: Mapping[str, str] | None = None,
) -> CatalogSettings:
    """Return the settings of a folder with `catalog.toml`, or defaults for a file or folder of a known format.

    Args:
        path: A catalog's folder, or a file or folder of tool definitions.
        overrides: Settings that win over the file and the environment: {section: {field: value}}.
        environment: Stands in for the process's own.

    Raises:
        SettingsInvalid: Something is wrong; the message names each wrong field.
    """
    path = Path(path)
    if not path.exists():
        raise SettingsInvalid(f"{path} does not exist: name a catalog folder, or a file of tool definitions")
    declaration = path / CATALOG_FILE if path.is_dir() else None
    if declaration is not None and declaration.exists():
        settings = read_toml(declaration)
        settings.setdefault("name", path.resolve().name)
        folder = path
    else:
        settings = _defaults(path)
        folder = path if path.is_dir() else path.parent
    wrong = ["folder cannot be set: it is the folder of the catalog itself"] if "folder" in settings else []
    from_environment, variables, refused = environment_settings(environment)
    _merge(settings, from_environment)
    _merge(settings, overrides or {})
    arguments = {(section, field) for section, fields in (overrides or {}).items() for field in fields}
    written: dict[Place, str] = {place: name for place, name in variables.items() if place not in arguments}
    written |= {place: f"the argument {OPTIONS[place]}" for place in arguments & OPTIONS.keys()}
    try:
        loaded = CatalogSettings(**{**settings, "folder": folder})
    except ValidationError as error:
        wrong += problems(error, CatalogSettings, written)
    wrong += refused
    if wrong:
        head = f"settings of {declaration or path}:"
        listed = wrong[0] if len(wrong) == 1 else "\n  ".join([f"{len(wrong)} problems", *wrong])
        raise SettingsInvalid(f"{head} {listed}")
    return loaded


def overrides(
    generator: str | None = None,
    encoder: str | None = None,
    max_cost: float | None = None,
    max_tools: int | None = None,
    mode: str | None = None,
    skip_unreadable: bool | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the settings that are arguments too, as `load` takes them; None leaves the catalog's own."""
    chosen: dict[str, dict[str, Any]] = {
        "sources": {"skip_unreadable": skip_unreadable},
        "enrichment": {"generator": generator, "max_cost_usd": max_cost, "max_tools": max_tools, "mode": mode},
        "vectors": {"encoder": encoder},
    }
    present = {section: {k: v for k, v in fields.items() if v is not None} for section, fields in chosen.items()}
    return {section: fields for section, fields in present.items() if fields}


def without_commands(settings: CatalogSettings) -> CatalogSettings:
    """Return the settings with no command to run: not those of the sources, not that of the hook."""
    sources = settings.sources.model_copy(update={"run_commands": False})
    notify = settings.notify.model_copy(update={"command": None})
    return settings.model_copy(update={"sources": sources, "notify": notify})


def with_provider(settings: CatalogSettings, provider: str | None) -> CatalogSettings:
    """Return the settings with one provider label for all sources; unchanged where it is None.

    The label of a single source is replaced. Raises SettingsInvalid where the label is empty, or where one of several
    sources has a label of its own, which it would lose.
    """
    if provider is None:
        return settings
    if not provider.strip():
        raise SettingsInvalid("--provider is empty: name the label, such as github")
    labels = [source.provider for source in settings.source if source.provider is not None]
    if labels and len(settings.source) > 1:
        shown = ", ".join(dict.fromkeys(labels[:3])) + (", …" if len(labels) > 3 else "")
        raise SettingsInvalid(
            f"--provider {provider!r} would label all {len(settings.source)} sources of {settings.name!r}, of which "
            f"{len(labels)} have a label of their own ({shown}): "
            f"set `provider` of a [[source]] in {CATALOG_FILE} instead"
        )
    labelled = tuple(source.model_copy(update={"provider": provider.strip()}) for source in settings.source)
    return settings.model_copy(update={"source": labelled})


def left_out(path: Path, settings: CatalogSettings) -> tuple[str, ...]:
    """Return the names in a folder without `catalog.toml` that may hold tools and are none of its sources.

    Subfolders end with a slash. Empty for a single file and for a catalog with `catalog.toml`.
    """
    if not path.is_dir() or (path / CATALOG_FILE).exists():
        return ()
    read = {str(source.path) for source in settings.source}
    names = sorted(f"{f.name}/" if f.is_dir() else f.name for f in path.iterdir() if not f.name.startswith("."))
    return tuple(
        name
        for name in names
        if name not in read
        and name not in _NOT_TOOLS
        and (name.endswith("/") or Path(name).suffix.lower() in (*_DOCUMENTS, *_OTHER_DATA))
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file declares. Raises SettingsInvalid where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        if max(line.count(".") for line in text.split("\n")) > _MAX_DOTS:
            raise ValueError(f"a line has more than {_MAX_DOTS} dots")
        declared = tomllib.loads(text)
        check_depth(declared, _MAX_DEPTH)  # dotted keys nest without recursion: a.a.a.a = 1
        return declared
    except (OSError, ValueError, RecursionError) as error:  # ValueError: no UTF-8, no TOML, a number of 5,000 digits
        raise SettingsInvalid(f"{path} cannot be read: {error}") from error


def monitoring_of(
    path: Path, environment: Mapping[str, str] | None = None
) -> tuple[str, NotifySettings, MetricsSettings]:
    """Return the name of a catalog, its hook and its metrics, of settings that are wrong elsewhere.

    What is wrong of these two themselves is taken as not set.
    """
    declared: dict[str, Any] = {}
    with suppress(SettingsInvalid):
        declared = read_toml(path / CATALOG_FILE)
    from_environment, _, _ = environment_settings(environment)

    def section(name: str, kind: type[S]) -> S:
        written = declared.get(name)
        fields = {**(written if isinstance(written, dict) else {}), **from_environment.get(name, {})}
        try:
            return kind(**fields)
        except (ValidationError, TypeError):
            return kind()

    name = declared.get("name")
    return (
        name if isinstance(name, str) else path.resolve().name,
        section("notify", NotifySettings),
        section("metrics", MetricsSettings),
    )


def _defaults(path: Path) -> dict[str, Any]:
    """Return the settings of a bare file or folder: its sources, and the expansions beside `tools.jsonl`."""
    # Every benchmark's file is called tools.jsonl: its folder tells them apart.
    place = path.resolve().parent if path.name == "tools.jsonl" else path.resolve()
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", place.name if place.is_dir() else place.stem).strip(".-")
    settings: dict[str, Any] = {"name": stem or "catalog"}
    if path.is_file():
        settings["source"] = [{"path": path.name}]
        tools = path if path.name == "tools.jsonl" else None
    else:
        tools = path / "tools.jsonl"
        names = (
            ["tools.jsonl"]
            if tools.is_file()
            else sorted(
                f.name
                for f in path.iterdir()
                if f.suffix.lower() in _DOCUMENTS and f.name not in _NOT_TOOLS and not f.is_dir()
            )
        )
        if not names and _holds_skills(path):
            names = ["."]
        if not names:
            raise SettingsInvalid(
                f"{path} holds neither {CATALOG_FILE} nor a .json, .jsonl or .yaml file of tools, nor a folder with a "
                f"{SKILL_FILES[0]}"
            )
        settings["source"] = [{"path": name} for name in names]
    if tools and tools.with_name("expansions.jsonl").is_file():
        settings["enrichment"] = {"expansions": "expansions.jsonl"}
    return settings


def _holds_skills(folder: Path) -> bool:
    """Return whether a folder is a skill, or holds one in a folder or in a folder of folders, such as `skills/`."""
    places = ("", "*/", "*/*/")
    found = (file for place in places for name in SKILL_FILES for file in folder.glob(f"{place}{name}"))
    return any(not part.startswith(".") for file in found for part in file.relative_to(folder).parts[:1])


def environment_settings(
    environment: Mapping[str, str] | None = None,
) -> tuple[dict[str, dict[str, Any]], dict[tuple[str, str], str], list[str]]:
    """Return the fields that variables set, the variable of each, and what is wrong with variables."""
    environment = os.environ if environment is None else environment
    values: dict[str, dict[str, Any]] = {}
    named: dict[tuple[str, str], str] = {}
    wrong: list[str] = []
    for variable, field in (("OPENAI_API_KEY", "api_key"), ("OPENAI_BASE_URL", "base_url")):
        if environment.get(variable):
            values.setdefault("enrichment", {})[field] = environment[variable]
            named["enrichment", field] = variable
    for variable, value in environment.items():
        section, separator, field = variable.removeprefix(_PREFIX).lower().partition("__")
        if not variable.startswith(_PREFIX) or not separator:
            continue
        if section not in (sections := CatalogSettings.sections()):
            near = get_close_matches(section, sections, 1)
            meant = f"did you mean {near[0]!r}? " if near else ""
            wrong.append(f"{variable}: there is no section {section!r}: {meant}use {', '.join(sections)}")
            continue
        try:
            values.setdefault(section, {})[field] = _value(value)
        except (ValueError, RecursionError) as error:
            wrong.append(f"{variable} is not JSON: {error}")
        named[section, field] = variable
    return values, named, wrong


def _merge(settings: dict[str, Any], over: Mapping[str, Mapping[str, Any]]) -> None:
    for section, fields in over.items():
        declared = settings.get(section, {})
        if isinstance(declared, dict):  # anything else is refused with the rest
            settings[section] = {**declared, **fields}


def _value(text: str) -> Any:
    """Return a field's value: JSON where it is an object (`ENRICHMENT__PARAMETERS`) or a list of texts, else the text.

    Raises ValueError where that is not JSON.
    """
    if not text.lstrip().startswith(("{", '["')):
        return text
    value = parse_json(text)
    check_depth(value, _MAX_DEPTH)
    return value
