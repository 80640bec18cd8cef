"""The Python functions behind tools: looked up by tool id and called with a model's arguments."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from router.errors import RequestInvalid

_logger = logging.getLogger("router")

Serves = Callable[[str], bool]  # whether the router serves a tool id now


class Functions(Mapping[str, Callable[..., Any]]):
    """The functions of the tools that a router serves now, by tool id."""

    def __init__(self, serves: Serves) -> None:
        self._serves = serves
        self._functions: dict[str, Callable[..., Any]] = {}

    def where(self, serves: Serves) -> "Functions":
        """Return these functions, and those that are put here later, only for the tools that `serves` names."""
        fewer = Functions(lambda tool_id: serves(tool_id) and self._serves(tool_id))
        fewer._functions = self._functions
        return fewer

    def put(self, tool_ids: Iterable[str], functions: Mapping[str, Callable[..., Any]]) -> None:
        """Set or replace the function of each tool id; one that `functions` lacks loses its function."""
        for tool_id in tool_ids:
            if (function := functions.get(tool_id)) is not None:
                self._functions[tool_id] = function
            else:
                self._functions.pop(tool_id, None)

    def __getitem__(self, tool_id: str) -> Callable[..., Any]:
        function = self._functions[tool_id]
        if not self._serves(tool_id):
            raise KeyError(tool_id)
        return function

    def __iter__(self) -> Iterator[str]:
        return (tool_id for tool_id in list(self._functions) if self._serves(tool_id))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"Functions({', '.join(self)})"

    def call(
        self, tool_id: str, arguments: Any, schema: Mapping[str, Any] | None = None, *, context: object = None
    ) -> Any:
        """Call a tool's function and return its result; for an async function, its coroutine.

        Arguments are JSON values, or the JSON text of an object. Each is converted to the type of its parameter's
        annotation (an Enum, a dataclass, a date, a pydantic model), where msgspec or pydantic can. Those that do not
        fit are mended by the tool's `schema` where that loses nothing, which is logged. `context` is given to the
        parameters that no model sees. Raises RequestInvalid where the tool has no function or the arguments do not fit
        it. Errors of the function itself pass through.
        """
        try:
            function = self[tool_id]
        except KeyError:
            raise RequestInvalid(f"no function is behind {tool_id!r}: there are {', '.join(self) or 'none'}") from None
        from router.tools.arguments import object_of, take_arguments  # here: most routers call no function
        from router.tools.functions.signatures import bind

        given = object_of(arguments, tool_id)
        (values, keywords), mended = take_arguments(
            partial(bind, function, tool_id, context=context), schema or {}, given
        )
        if mended:
            _logger.info("%s: %s", tool_id, mended)
        return function(*values, **keywords)
