"""The web pages: route a request and see why, browse tools. HTML without a script.

`pages` holds the paths; `catalog` computes what they show of a catalog; `rendering` escapes and renders templates.
"""

from quartermaster.serving.page.pages import OpenInspection, ShowPage, pages

__all__ = ["OpenInspection", "ShowPage", "pages"]
