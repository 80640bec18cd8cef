"""The web pages: route a request and see why, browse tools, look at misses. HTML without a script.

`pages` holds what is shown and `forms` what is sent, by path; `catalog` computes what pages show of a catalog;
`rendering` escapes and renders templates.
"""

from quartermaster.serving.page.forms import TakeForm, check_origin, form_fields, forms
from quartermaster.serving.page.pages import OpenInspection, ShowPage, pages

__all__ = ["OpenInspection", "ShowPage", "TakeForm", "check_origin", "form_fields", "forms", "pages"]
