"""Tools as a Python program has them, functions first, → records and what to call for each."""

from router.functions.calling import Functions
from router.functions.reading import Tool, Tools, ToolSet, read_tools

__all__ = ["Functions", "Tool", "ToolSet", "Tools", "read_tools"]
