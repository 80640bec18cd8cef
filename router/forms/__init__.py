"""Tools in the forms that providers take, from one record: names, schemas, how much is said, and the way back."""

from router.forms.compact import signature
from router.forms.form import TERMS, Detail, Form, Terms, chosen
from router.forms.names import hashed_names, id_of, legal_name
from router.forms.rendering import Note, Rendered, render
from router.forms.shaping import variants

__all__ = [
    "TERMS",
    "Detail",
    "Form",
    "Note",
    "Rendered",
    "Terms",
    "chosen",
    "hashed_names",
    "id_of",
    "legal_name",
    "render",
    "signature",
    "variants",
]
