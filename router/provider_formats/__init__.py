"""Tools in the forms that providers take, from one record: names, schemas, how much is said, and the way back."""

from router.provider_formats.compact import signature
from router.provider_formats.formats import Detail, Form, ProviderFormat, ProviderLimits, ToolParts, parse_choice
from router.provider_formats.names import hashed_names, id_of, legal_name
from router.provider_formats.rendering import Note, Rendered, render
from router.provider_formats.shaping import variants

__all__ = [
    "Detail",
    "Form",
    "Note",
    "ProviderFormat",
    "ProviderLimits",
    "Rendered",
    "ToolParts",
    "hashed_names",
    "id_of",
    "legal_name",
    "parse_choice",
    "render",
    "signature",
    "variants",
]
