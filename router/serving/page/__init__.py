"""The page to look with: route a request and see why, browse tools, compare two snapshots. Plain HTML, no script."""

from router.serving.page.inspecting import Inspect
from router.serving.page.pages import pages

__all__ = ["Inspect", "pages"]
