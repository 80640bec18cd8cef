"""Tools as a Python program has them, functions first, → records and what to call for each."""

from router.tools.functions.calling import Functions
from router.tools.functions.reading import Tool, Tools, ToolSet, read_tools

__all__ = ["Functions", "Tool", "ToolSet", "Tools", "read_tools"]
