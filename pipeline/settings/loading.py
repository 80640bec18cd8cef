"""Load settings from a catalog's folder or file, the environment and the arguments of a call."""

import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from pipeline.errors import SettingsInvalid
from pipeline.settings.base import Section
from pipeline.settings.catalog import CatalogSettings, MetricsSettings, NotifySettings
from pipeline.settings.client_file import client_sources
from pipeline.settings.files import CATALOG_FILE, DOCUMENTS, NOT_TOOLS, SKILL_FILES, files_below, is_document
from pipeline.settings.problems import Place, problems, suggestion
from router.tools.definitions.json_values import check_depth, parse_json

S = TypeVar("S", bound=Section)
_MAX_DEPTH = 50  # real settings have five levels
_MAX_DOTS = 500  # on one line; tomllib takes quadratic time and memory for dotted keys
_PREFIX = "QUARTERMASTER_"
# What may hold tools too, and is read only where a catalog.toml names it.
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
    path: Path, overrides: Mapping[str, Mapping[str, Any]] | None = None, environment: Mapping[str, str] | None = None
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
    folder = path if path.is_dir() else path.parent
    place = path
    if (path / CATALOG_FILE).exists():
        place = path / CATALOG_FILE
        settings = {"name": path.resolve().name, **read_toml(place)}
    else:
        settings = _defaults(path)
    wrong = ["folder cannot be set: it is the folder of the catalog itself"] if "folder" in settings else []
    from_environment, written, refused = _environment_settings(environment)
    _merge(settings, from_environment)
    _merge(settings, overrides or {})
    arguments = [(section, field) for section, fields in (overrides or {}).items() for field in fields]
    outside: dict[Place, str] = {**written, **dict.fromkeys(arguments, "")}
    for argument in arguments:
        written.pop(argument, None)
        if argument in OPTIONS:
            written[argument] = f"the argument {OPTIONS[argument]}"
    try:
        loaded = CatalogSettings(**{**settings, "folder": folder})
    except ValidationError as error:
        wrong += problems(error, CatalogSettings, written)
    if wrong := [*wrong, *refused]:
        listed = wrong[0] if len(wrong) == 1 else "\n  ".join([f"{len(wrong)} problems", *wrong])
        raise SettingsInvalid(f"settings of {place}: {listed}")
    sources = (
        client_sources(source, loaded.resolve(source.path)) if source.path else (source,) for source in loaded.source
    )
    loaded = loaded.model_copy(update={"source": tuple(chain.from_iterable(sources))})
    return loaded.given_outside(outside)


def overrides(
    generator: str | None = None,
    encoder: str | None = None,
    max_cost: float | None = None,
    max_tools: int | None = None,
    mode: str | None = None,
    skip_unreadable: bool | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the settings that are arguments too, as `load` takes them; None leaves the catalog's own."""
    chosen: dict[str, dict[str, Any]] = {}
    values = (skip_unreadable, generator, max_cost, max_tools, mode, encoder)
    for (section, field), value in zip(OPTIONS, values, strict=True):
        if value is not None:
            chosen.setdefault(section, {})[field] = value
    return chosen


def with_provider(settings: CatalogSettings, provider: str | None) -> CatalogSettings:
    """Return the settings with one provider label for all sources; unchanged where it is None.

    The label of a single source is replaced. Raises SettingsInvalid where the label is empty, or where one of several
    sources has its own label, which it would lose.
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
    known = {*NOT_TOOLS, *(str(source.path) for source in settings.source)}
    files = sorted(file for file in path.iterdir() if not file.name.startswith(".") and file.name not in known)
    data = (*DOCUMENTS, *_OTHER_DATA)
    return tuple(
        (file.name if file.name.isprintable() else ascii(file.name)) + "/" * file.is_dir()
        for file in files
        if file.is_dir() or file.suffix.lower() in data
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
    _merge(declared, _environment_settings(environment)[0])

    def section(name: str, kind: type[S]) -> S:
        try:
            return kind.model_validate(declared.get(name, {}))
        except ValidationError:
            return kind()

    name = declared.get("name")
    shown = name if isinstance(name, str) else path.resolve().name if path.is_dir() else _bare_name(path)
    return shown, section("notify", NotifySettings), section("metrics", MetricsSettings)


def _defaults(path: Path) -> dict[str, Any]:
    """Return the settings of a bare file or folder: its sources, and the expansions beside `tools.jsonl`."""
    tools = path / "tools.jsonl" if path.is_dir() else path
    if tools.is_file():
        names = [tools.name]
    else:
        names = sorted(file.name for file in path.iterdir() if is_document(file) and not file.is_dir())
        if not names and _holds_skills(path):
            names = ["."]
        else:
            deeper = {file.parts[0] for file, left_out in files_below(path, path) if is_document(file) and not left_out}
            names += sorted(
                name
                for name in deeper.difference(names)
                if not (_holds_skills(path / name) or (path / name / CATALOG_FILE).exists())
            )
    if not names:
        raise SettingsInvalid(
            f"{path} holds neither {CATALOG_FILE} nor a .json, .jsonl or .yaml file of tools, nor a folder with a "
            f"{SKILL_FILES[0]}"
        )
    settings: dict[str, Any] = {"name": _bare_name(path), "source": [{"path": name} for name in names]}
    if tools.name == "tools.jsonl" and tools.with_name("expansions.jsonl").is_file():
        settings["enrichment"] = {"expansions": "expansions.jsonl"}
    return settings


def _bare_name(path: Path) -> str:
    """Return the name of the catalog that a file or a folder without catalog.toml is."""
    # Every benchmark's file is called tools.jsonl: its folder tells them apart.
    place = path.resolve().parent if path.name == "tools.jsonl" else path.resolve()
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", place.name if place.is_dir() else place.stem).strip(".-")
    return stem or "catalog"


def _holds_skills(folder: Path) -> bool:
    """Return whether a folder is a skill, or holds one in a folder or in a folder of folders, such as `skills/`."""
    places = ("", "*/", "*/*/")
    found = (file for place in places for name in SKILL_FILES for file in folder.glob(f"{place}{name}"))
    return any(not file.relative_to(folder).parts[0].startswith(".") for file in found)


def _environment_settings(
    environment: Mapping[str, str] | None,
) -> tuple[dict[str, dict[str, Any]], dict[Place, str], list[str]]:
    """Return the fields that variables set, the variable of each, and what is wrong with variables."""
    environment = os.environ if environment is None else environment
    theirs = {"OPENAI_API_KEY": ("enrichment", "api_key"), "OPENAI_BASE_URL": ("enrichment", "base_url")}
    places = {variable: place for variable, place in theirs.items() if environment.get(variable)}
    wrong: list[str] = []
    sections = CatalogSettings.sections()
    for variable in environment:
        section, separator, field = variable.removeprefix(_PREFIX).lower().partition("__")
        if variable.startswith(_PREFIX) and separator:
            if section in sections:
                places[variable] = section, field
            else:
                wrong.append(f"{variable}: there is no section {section!r}: {suggestion(section, sections)}")
    values: dict[str, dict[str, Any]] = {}
    for variable, (section, field) in places.items():
        try:
            values.setdefault(section, {})[field] = _value(environment[variable])
        except (ValueError, RecursionError) as error:
            wrong.append(f"{variable} is not JSON: {error}")
    return values, {place: variable for variable, place in places.items()}, wrong


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
