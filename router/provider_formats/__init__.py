"""Tools in the forms that providers take, from one record: names, schemas, how much is said, and the way back."""

from router.provider_formats.compact import signature
from router.provider_formats.form import PROVIDER_LIMITS, Detail, Form, ProviderLimits, chosen
from router.provider_formats.names import hashed_names, id_of, legal_name
from router.provider_formats.rendering import Note, Rendered, render
from router.provider_formats.shaping import variants

__all__ = [
    "PROVIDER_LIMITS",
    "Detail",
    "Form",
    "Note",
    "ProviderLimits",
    "Rendered",
    "chosen",
    "hashed_names",
    "id_of",
    "legal_name",
    "render",
    "signature",
    "variants",
]
