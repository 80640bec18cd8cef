"""The web pages: route a request and see why, browse tools. HTML without a script.

`pages` holds the paths; `home`, `form`, `browsing`, `tool_page` and `rank_chart` compute the values of the templates;
`rendering` escapes and renders them; `errors` shows errors to browsers.
"""

from quartermaster.serving.page.home import CatalogCost
from quartermaster.serving.page.pages import pages
from quartermaster.serving.page.rendering import error_page, wants_page
from quartermaster.serving.page.tool_page import InspectTool

__all__ = ["CatalogCost", "InspectTool", "error_page", "pages", "wants_page"]
