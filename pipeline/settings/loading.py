"""Settings from a catalog's folder or file, the environment and the arguments of a call."""

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipeline.errors import SettingsInvalid
from pipeline.settings.sections import CatalogSettings

CATALOG_FILE = "catalog.toml"
_PREFIX = "QUARTERMASTER_"
# What may lie beside tool definitions in the formats of this project.
_NOT_TOOLS = ("expansions.jsonl", "judgements.jsonl", "queries.jsonl", "usage.jsonl", "meta.json")
_SECTIONS = ("enrichment", "assessment", "vectors", "tuning", "retrieval", "publish", "flow")


def load(
    path: Path,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    environment: Mapping[str, str] | None = None,
) -> CatalogSettings:
    """Settings of a catalog folder with `catalog.toml`, or defaults for a file or folder of a known format.

    `overrides` are {section: {field: value}}; `environment` stands in for the process's own. Raises SettingsInvalid,
    naming each wrong field.
    """
    path = Path(path)
    if not path.exists():
        raise SettingsInvalid(f"{path} does not exist: name a catalog folder, or a file of tool definitions")
    declaration = path / CATALOG_FILE if path.is_dir() else None
    if declaration is not None and declaration.exists():
        settings = _read_toml(declaration)
        settings.setdefault("name", path.resolve().name)
        folder = path
    else:
        settings = _defaults(path)
        folder = path if path.is_dir() else path.parent
    _merge(settings, _from_environment(os.environ if environment is None else environment))
    _merge(settings, overrides or {})
    try:
        return CatalogSettings(**{**settings, "folder": folder})
    except ValidationError as error:
        problems = "; ".join(dict.fromkeys(_problem(p, error.errors()) for p in error.errors()))
        raise SettingsInvalid(f"settings of {declaration or path}: {problems}") from None


def _problem(error: Any, errors: Sequence[Any]) -> str:
    """One wrong field, in a sentence. A list whose items are wrong is counted as too short, which says nothing new."""
    loc = error["loc"]
    inner = [e for e in errors if len(e["loc"]) > len(loc) and e["loc"][: len(loc)] == loc]
    if error["type"] == "too_short" and inner:
        return _problem(inner[0], errors)
    said = {"extra_forbidden": "there is no such setting", "missing": "it is missing"}
    message = said.get(error["type"], error["msg"].removeprefix("Value error, "))
    return f"{'.'.join(map(str, loc)) or 'catalog'}: {message}"


def overrides(
    generator: str | None = None,
    encoder: str | None = None,
    max_cost: float | None = None,
    max_tools: int | None = None,
    mode: str | None = None,
) -> dict[str, dict[str, Any]]:
    """The settings that are arguments too, as `load` takes them; None leaves the catalog's own."""
    chosen: dict[str, dict[str, Any]] = {
        "enrichment": {"generator": generator, "max_cost_usd": max_cost, "max_tools": max_tools, "mode": mode},
        "vectors": {"encoder": encoder},
    }
    given = {section: {k: v for k, v in fields.items() if v is not None} for section, fields in chosen.items()}
    return {section: fields for section, fields in given.items() if fields}


def with_provider(settings: CatalogSettings, provider: str | None) -> CatalogSettings:
    """Return the settings with one provider label for all sources; unchanged where it is None.

    Raises SettingsInvalid where it is empty, and where sources of a catalog have labels of their own: they would lose
    them. The label of a single source is replaced.
    """
    if provider is None:
        return settings
    if not provider.strip():
        raise SettingsInvalid("--provider is empty: name the label, such as github")
    own = [source.provider for source in settings.source if source.provider is not None]
    if own and len(settings.source) > 1:
        shown = ", ".join(dict.fromkeys(own[:3])) + (", …" if len(own) > 3 else "")
        raise SettingsInvalid(
            f"--provider {provider!r} would label all {len(settings.source)} sources of {settings.name!r}, of which "
            f"{len(own)} have a label of their own ({shown}): set `provider` of a [[source]] in {CATALOG_FILE} instead"
        )
    labelled = tuple(source.model_copy(update={"provider": provider.strip()}) for source in settings.source)
    return settings.model_copy(update={"source": labelled})


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsInvalid(f"{path} cannot be read: {error}") from error


def _defaults(path: Path) -> dict[str, Any]:
    """What a bare file or folder means: one source, and the expansions that lie beside `tools.jsonl`."""
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
                if f.suffix in (".json", ".jsonl", ".yaml", ".yml") and f.name not in _NOT_TOOLS and f.is_file()
            )
        )
        if not names:
            raise SettingsInvalid(f"{path} holds neither {CATALOG_FILE} nor a .json, .jsonl or .yaml file of tools")
        settings["source"] = [{"path": name} for name in names]
    if tools and tools.with_name("expansions.jsonl").is_file():
        settings["enrichment"] = {"expansions": "expansions.jsonl"}
    return settings


def _from_environment(environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for variable, field in (("OPENAI_API_KEY", "api_key"), ("OPENAI_BASE_URL", "base_url")):
        if environment.get(variable):
            found.setdefault("enrichment", {})[field] = environment[variable]
    for variable, value in environment.items():
        section, separator, field = variable.removeprefix(_PREFIX).lower().partition("__")
        if variable.startswith(_PREFIX) and separator:
            if section not in _SECTIONS:
                raise SettingsInvalid(f"{variable}: there is no section {section!r}: use {', '.join(_SECTIONS)}")
            found.setdefault(section, {})[field] = _value(variable, value)
    return found


def _merge(settings: dict[str, Any], over: Mapping[str, Mapping[str, Any]]) -> None:
    for section, fields in over.items():
        declared = settings.get(section, {})
        if isinstance(declared, dict):  # anything else is refused with the rest
            settings[section] = {**declared, **fields}


def _value(variable: str, text: str) -> Any:
    """A field's value: JSON where it is written as an object (`ENRICHMENT__PARAMETERS`), else the text."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise SettingsInvalid(f"{variable} is not JSON: {error}") from None
