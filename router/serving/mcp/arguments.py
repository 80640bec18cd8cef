"""Arguments of a call, held against the tool's input schema before they are sent."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from referencing import Registry
from referencing.exceptions import Unresolvable

_Check = Callable[..., Iterator[Any] | None]

# Schemas are a stranger's. What runs his regular expressions, or compares all items with each other, could hold this
# process for hours on one call: the server checks that itself.
_LEFT_TO_THE_SERVER = ("pattern", "patternProperties", "uniqueItems", "unevaluatedProperties", "unevaluatedItems")
# Keywords that one call may evaluate. Real schemas take hundreds; `anyOf` twenty deep a million, some recursions no
# end. A mismatch quotes the value, so it costs more.
_MOST_STEPS, _OF_A_MISMATCH = 20_000, 100
_LARGEST = 100_000  # characters of JSON
_MOST_SAID, _LONGEST = 3, 200

_steps: ContextVar[list[int]] = ContextVar("steps")


class _TooMany(Exception):
    """The schema takes more steps than any real one."""


def problems(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with the arguments, each with its JSON path, three at most; nothing where the schema cannot say.

    A schema that is none, refers to another document or takes too long, and arguments of more than 100,000 characters,
    are left to the tool's server.
    """
    _steps.set([_MOST_STEPS])
    try:
        if len(json.dumps(arguments)) > _LARGEST:
            return []
        dialect = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        dialect.check_schema(schema, format_checker=jsonschema.FormatChecker(()))
        # An empty registry: a reference to an address is not fetched.
        validator = _careful(dialect)(_of_one_dialect(schema), registry=Registry())
        wrong = list(islice(validator.iter_errors(arguments), _MOST_SAID))
    except (jsonschema.SchemaError, jsonschema.exceptions.UnknownType, Unresolvable, RecursionError, _TooMany):
        return []
    return [f"{error.json_path}: {error.message}" for error in wrong]


@lru_cache
def _careful(dialect: Any) -> Any:
    """A dialect's validator that counts its steps and leaves out what may not end."""
    checks = {keyword: _counted(check) for keyword, check in dialect.VALIDATORS.items()}
    checks |= {keyword: _passed for keyword in _LEFT_TO_THE_SERVER if keyword in checks}
    checks["additionalProperties"] = _without_patterns(checks["additionalProperties"])
    return jsonschema.validators.extend(dialect, checks)


def _counted(check: _Check) -> _Check:
    def counted(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
        _spend(1)
        for error in check(validator, value, instance, schema) or ():
            _spend(_OF_A_MISMATCH)
            if len(error.message) > _LONGEST:
                error.message = f"{error.message[:_LONGEST]}…"
            yield error

    return counted


def _without_patterns(check: _Check) -> _Check:
    """Which properties are additional is told by the patterns of the others too."""

    def checked(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any] | None:
        return None if "patternProperties" in schema else check(validator, value, instance, schema)

    return checked


def _passed(*_: Any) -> None:
    return None


def _spend(steps: int) -> None:
    left = _steps.get()
    left[0] -= steps
    if left[0] < 0:
        raise _TooMany


def _of_one_dialect(schema: Any) -> Any:
    """A schema without `$schema`: a part that names one would be checked by that dialect's own, patterns and all."""
    if isinstance(schema, Mapping):
        parts = schema.items()
        return {k: _of_one_dialect(v) for k, v in parts if k != "$schema" or not isinstance(v, str)}
    return [_of_one_dialect(part) for part in schema] if isinstance(schema, list | tuple) else schema
