"""Plain English for pydantic's validation errors: users never read pydantic's own messages."""

from collections.abc import Mapping
from typing import Any

# By error type; {names} are keys of its context. Each completes "the setting …".
_SENTENCES = {
    "missing": "is missing",
    "extra_forbidden": "is unknown here",
    "string_type": "must be a text",
    "string_sub_type": "must be a text",
    "string_unicode": "must be a text of valid Unicode",
    "string_too_short": "must have {min_length} characters or more",
    "string_too_long": "must have {max_length} characters at most",
    "too_short": "must hold at least {min_length}",
    "too_long": "must hold {max_length} at most",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "path_type": "must be a path, written as a text",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be {table} of names and values",
    "mapping_type": "must be {table} of names and values",
    "model_type": "must be {table} of names and values",
    "model_attributes_type": "must be {table} of names and values",
    "invalid_key": "has a name that is not a text",
    "union_tag_invalid": "must be of one of the kinds that are allowed here",
    "union_tag_not_found": "must be of one of the kinds that are allowed here",
}
_NOT_BLANK = r"\S"


def describe_requirement(kind: str, context: Mapping[str, Any] | None = None, *, table: str = "a table") -> str:
    """Return what a value must be, as the end of a sentence: "must be at least 1".

    `kind` and `context` are a pydantic error's `type` and `ctx`; `table` is the file format's word for a mapping. A
    message that this project wrote itself is returned unchanged.
    """
    context = {name: int(v) if isinstance(v, float) and v.is_integer() else v for name, v in (context or {}).items()}
    own = "error" if kind in ("value_error", "assertion_error") else "said"
    if own in context:
        return str(context[own])
    if kind == "string_pattern_mismatch":
        return "must not be blank" if context.get("pattern") == _NOT_BLANK else f"must match {context.get('pattern')}"
    try:
        return _SENTENCES[kind].format(**context, table=table)
    except (KeyError, IndexError):
        return "has a value that is not allowed here"
