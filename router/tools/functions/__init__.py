"""The tools of a Python program, read into records, with the function to call for each.

`reading` reads lists of tools, `objects` one tool of any kind; `signatures`, `annotations`, `schemas` and `docstrings`
describe a Python function; `calling` calls it with a model's arguments, which `binding` converts.
"""

from typing import TYPE_CHECKING

from router.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from router.tools.functions.calling import Functions
    from router.tools.functions.reading import Tool, Tools, ToolSet, read_tools
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "router.tools.functions.calling": "Functions",
            "router.tools.functions.reading": "Tool Tools ToolSet read_tools",
        },
    )

__all__ = ["Functions", "Tool", "ToolSet", "Tools", "read_tools"]
