"""The reference of settings, from the typed sections of `pipeline.settings`."""

import ast
import inspect
import types
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from docs.generators.markdown import code, linked, table
from pipeline.settings import CatalogSettings, FlowSettings, LedgerSettings, MetricsSettings, NotifySettings
from pipeline.settings.access import OAuthSettings
from pipeline.settings.base import Section
from pipeline.settings.enrichment import AssessmentSettings, BatchSettings, EnrichmentSettings, Price
from pipeline.settings.snapshot import PublishSettings, RetrievalSettings, TuningSettings, VectorSettings
from pipeline.settings.sources import FieldSettings, LimitsSettings, SourceSettings, SourcesSettings

SECTIONS: dict[str, type[Section]] = {
    "[[source]]": SourceSettings,
    "[source.fields]": FieldSettings,
    "[source.oauth]": OAuthSettings,
    "[sources]": SourcesSettings,
    "[limits]": LimitsSettings,
    "[enrichment]": EnrichmentSettings,
    "[enrichment.batch]": BatchSettings,
    "[enrichment.prices.MODEL]": Price,
    "[assessment]": AssessmentSettings,
    "[vectors]": VectorSettings,
    "[tuning]": TuningSettings,
    "[retrieval]": RetrievalSettings,
    "[publish]": PublishSettings,
    "[ledger]": LedgerSettings,
    "[notify]": NotifySettings,
    "[metrics]": MetricsSettings,
    "[flow]": FlowSettings,
}
# Fields that are sections of their own, or not for the file.
_ELSEWHERE = {"source", "folder", *CatalogSettings.sections()}

_HEAD = """# Settings

A catalog's settings are in `catalog.toml`. Only the place of a source has no default. The first of these that
sets a field wins: the arguments of the call or the command line, the environment, `catalog.toml`, the default.

The environment sets any field of a section: `QUARTERMASTER_<SECTION>__<FIELD>`, as in `QUARTERMASTER_VECTORS__ENCODER`
or `QUARTERMASTER_PUBLISH__KEEP`. A value that begins with `{` or `["` is read as JSON. Sections in double brackets, and
those below them, are set only in the file. A wrong or unknown field stops a build before it starts; all of them are
reported at once.

Other variables: `OPENAI_API_KEY` and `OPENAI_BASE_URL` (the model's server), `QUARTERMASTER_CATALOG` (which catalog of
a workspace is meant), `QUARTERMASTER_CACHE` (the folder of exported encoders), `QUARTERMASTER_TOKEN` (the servers'
bearer token), `QUARTERMASTER_TRACEBACK` (`1` prints the traceback of an unforeseen error).
"""


def page() -> str:
    """Return the page: the catalog itself, then each section with its fields."""
    top = {name: field for name, field in CatalogSettings.model_fields.items() if name not in _ELSEWHERE}
    parts = [_HEAD.strip(), "## The catalog", _fields(top, CatalogSettings)]
    for name, section in SECTIONS.items():
        about = linked(inspect.cleandoc(section.__doc__ or ""))
        parts += [f"## `{name}`", about, _fields(dict(section.model_fields), section)]
    return "\n\n".join(parts) + "\n"


def _fields(fields: dict[str, FieldInfo], section: type[Section]) -> str:
    meanings = meanings_of(section)
    rows = [
        [code(name), _type(field.annotation) + _limits(field), _default(field, meanings[name]), linked(meanings[name])]
        for name, field in fields.items()
    ]
    return table(["field", "type", "default", "meaning"], rows)


def meanings_of(section: type[Section]) -> dict[str, str]:
    """Return the docstring under each field of a section, by the field's name; those of its bases too."""
    base = section.__base__
    meanings = meanings_of(base) if base is not None and base is not Section and issubclass(base, Section) else {}
    (definition,) = ast.parse(inspect.getsource(section)).body
    assert isinstance(definition, ast.ClassDef)
    for field, text in pairwise(definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(ast.Constant(str(docstring))):
                    meanings[field.target.id] = inspect.cleandoc(docstring)
    return meanings


def _type(annotation: Any) -> str:
    """Return a type as somebody who writes TOML reads it."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(_type(part) for part in parts if part is not type(None))
    if origin is Annotated:
        return _type(parts[0])
    if origin is Literal:
        return ", ".join(code(value) for value in parts)
    if origin is tuple:
        return f"list of {_type(parts[0])}{'' if get_origin(parts[0]) is Literal else 's'}"
    if origin is dict or (inspect.isclass(annotation) and issubclass(annotation, Section)):
        return "table"
    words = {bool: "true or false", int: "whole number", float: "number", Path: "path", timedelta: "duration"}
    return words.get(annotation, "text")


def _limits(field: FieldInfo) -> str:
    words = {"gt": "above", "ge": "from", "lt": "below", "le": "to"}
    said = [
        f"{word} {value:,}"
        for sign, word in words.items()
        for m in field.metadata
        if (value := getattr(m, sign, None)) is not None and not isinstance(value, timedelta)
    ]
    return f", {' '.join(said)}" if said else ""


def _default(field: FieldInfo, meaning: str) -> str:
    if field.is_required():
        return "" if "By default" in meaning else "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined or value == {} or isinstance(value, Section | dict):
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, timedelta):
        return code(f'"{value.days}d"')
    if isinstance(value, tuple):
        return code("[" + ", ".join(f'"{part}"' for part in value) + "]")
    return code(f"{value:g}" if isinstance(value, float) and value < 1e5 else value)
