"""Arguments of a call, checked against the tool's input schema before they are sent."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema
from referencing import Registry
from referencing.exceptions import Unresolvable

from quartermaster.calling.errors import CallRefused
from router.provider_formats.shaping import signature
from router.record import ToolRecord
from router.tools.arguments import take_arguments
from router.tools.definitions.rows import Steps, TooManySteps
from router.tools.trust.trusted import trusted_text

_Check = Callable[..., Iterator[Any] | None]

# Schemas are written by strangers. Keywords that run regular expressions, or compare all items with each other, could
# block this process for hours: only the tool's own server checks them.
_LEFT_TO_THE_SERVER = ("pattern", "patternProperties", "uniqueItems", "unevaluatedProperties", "unevaluatedItems")
# Keywords that one call may evaluate. Real schemas take hundreds; `anyOf` nested twenty deep takes a million, and some
# recursions never end. A mismatch quotes the value, so it costs more.
_MAX_STEPS, _MISMATCH_STEPS = 20_000, 100
_MAX_JSON = 100_000  # characters of the arguments
_MAX_PROBLEMS, _MAX_MESSAGE = 3, 200

_steps: ContextVar[Steps] = ContextVar("steps")


def fitting_arguments(record: ToolRecord, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return arguments that fit the schema of a record's tool, mended if need be, and what was mended for the model.

    Raises CallRefused where they cannot be mended, which tells the model what is wrong with those that it gave.
    """

    def take(given: Mapping[str, Any]) -> Mapping[str, Any]:
        problems = argument_problems(record.input_schema, given)
        if not problems:
            return given
        wrong = "; ".join(map(trusted_text, problems))  # they quote the vendor's schema
        raise CallRefused(
            f"the arguments of {record.tool_id} are wrong, so nothing was sent: {wrong}. "
            f"Its signature is {signature(replace(record, name=record.tool_id))}"
        )

    return take_arguments(take, record.input_schema, arguments)


def argument_problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """Return up to three problems of the arguments, each with its JSON path; [] if there is none or nobody can tell.

    An invalid schema, one that refers to another document or takes too long, and arguments of more than 100,000
    characters are left to the tool's server.
    """
    _steps.set(Steps(_MAX_STEPS))
    try:
        if len(json.dumps(arguments)) > _MAX_JSON:
            return []
    except (TypeError, ValueError, RecursionError):  # a program's own values, such as dates: writing refuses them
        return []
    try:
        dialect = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        dialect.check_schema(schema, format_checker=jsonschema.FormatChecker(()))
        # An empty registry: a reference to an address is not fetched.
        validator = _bounded_validator(dialect)(_without_dialects(schema), registry=Registry())
        errors = list(islice(validator.iter_errors(arguments), _MAX_PROBLEMS))
    except (jsonschema.SchemaError, jsonschema.exceptions.UnknownType, Unresolvable, RecursionError, TooManySteps):
        return []
    return [f"{error.json_path}: {error.message}" for error in errors]


@lru_cache
def _bounded_validator(dialect: Any) -> Any:
    """Return a dialect's validator that counts its steps and skips keywords that may not end."""
    checks = {keyword: _count_steps(check) for keyword, check in dialect.VALIDATORS.items()}
    others = checks["additionalProperties"]
    return jsonschema.validators.extend(
        dialect,
        {
            **checks,
            **dict.fromkeys(_LEFT_TO_THE_SERVER, lambda *_: None),
            # Which properties are additional depends on patterns, which do not run here.
            "additionalProperties": lambda *given: None if "patternProperties" in given[3] else others(*given),
        },
    )


def _count_steps(check: _Check) -> _Check:
    def counted(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
        _steps.get().spend()
        for error in check(validator, value, instance, schema) or ():
            _steps.get().spend(_MISMATCH_STEPS)
            if len(error.message) > _MAX_MESSAGE:
                error.message = f"{error.message[:_MAX_MESSAGE]}…"
            yield error

    return counted


def _without_dialects(schema: Any) -> Any:
    """Return a schema without `$schema`: a part that names a dialect would be checked with its patterns too."""
    if isinstance(schema, Mapping):
        parts = schema.items()
        return {k: _without_dialects(v) for k, v in parts if k != "$schema" or not isinstance(v, str)}
    return [_without_dialects(part) for part in schema] if isinstance(schema, list | tuple) else schema
