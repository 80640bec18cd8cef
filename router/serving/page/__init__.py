"""The web page: route a request and see why, browse tools, compare two snapshots. Plain HTML, no script.

`pages` holds the paths; `form`, `browsing`, `tool_page`, `comparing` and `rank_chart` compute the values of the
templates; `rendering` escapes and renders them.
"""

from router.serving.page.pages import pages
from router.serving.page.tool_page import InspectTool

__all__ = ["InspectTool", "pages"]
