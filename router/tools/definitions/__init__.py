"""Reads tool definitions of any vendor into records, by the same rules at build time and at run time.

`vendors` reads one definition into a `raw_tool`, by `field_names`; `schema_shapes`, `dialects` and `types` turn its
parameters into JSON Schema; `normalization` makes the record; `nesting` finds the definitions in a document;
`reading` puts them together.

>>> record_of({"type": "function", "function": {"name": "list_charges", "parameters": {…}}}, provider="stripe")
ToolRecord(tool_id='stripe/list_charges', …)
"""

from typing import TYPE_CHECKING

from router.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from router.tools.definitions.reading import Definition, record_of, records_of
else:
    __getattr__, __dir__ = lazy_exports(
        __name__, {"router.tools.definitions.reading": "Definition record_of records_of"}
    )

__all__ = ["Definition", "record_of", "records_of"]
