"""The web pages: route a request and see why, browse tools, compare two snapshots. HTML without a script.

`pages` holds the paths; `home`, `form`, `browsing`, `tool_page`, `comparing` and `rank_chart` compute the
values of the templates; `rendering` escapes and renders them; `errors` shows errors to browsers.
"""

from quartermaster.serving.page.errors import HtmlErrors
from quartermaster.serving.page.home import CatalogCost
from quartermaster.serving.page.pages import pages
from quartermaster.serving.page.tool_page import InspectTool

__all__ = ["CatalogCost", "HtmlErrors", "InspectTool", "pages"]
