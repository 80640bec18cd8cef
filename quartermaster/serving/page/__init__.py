"""The web pages: route a request and see why, browse tools. HTML without a script.

`pages` holds the paths; `routing` and `catalog` compute the values of the templates; `rendering` escapes and renders
them, and shows errors to browsers.
"""

from quartermaster.serving.page.pages import InspectTool, ShowPage, pages
from quartermaster.serving.page.rendering import error_page, wants_page

__all__ = ["InspectTool", "ShowPage", "error_page", "pages", "wants_page"]
