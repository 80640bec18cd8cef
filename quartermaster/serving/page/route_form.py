"""The form of a request: its fields as a browser sends them, and the options that they mean."""

from collections.abc import Mapping
from typing import Any

from quartermaster.serving import ServedOptions
from router.answer.options import RouteOptions
from router.typed import converted

MAX_REQUEST = 4_000  # characters; the forms take no more
_LISTS = ("allow", "block", "providers", "categories")
_BLANK = dict.fromkeys(("request", "needs", "recipe", *_LISTS, "kind", "token_budget", "read_only"), "") | {
    "k": "10",
    "detail": "full",
}


def form_of(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the form, valid or not, so that the page can show them again.

    Unknown and blank fields are ignored.
    """
    return _BLANK | {name: text.strip() for name, text in fields.items() if name in _BLANK and text.strip()}


def changed(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields that are not as they are in a blank form."""
    return {name: text for name, text in form.items() if text != _BLANK[name]}


def is_filtered(form: Mapping[str, str]) -> bool:
    """Return whether a field is filled in that can leave tools out or shorten them."""
    return not changed(form).keys() <= {"request", "needs", "k", "recipe"}


def options_of(form: Mapping[str, str]) -> RouteOptions:
    """Return a form's options for `Router.route`. Raises SettingsInvalid, naming the wrong field."""
    selection: dict[str, Any] = {
        name: names for name in _LISTS if (names := [part.strip() for part in form[name].split(",") if part.strip()])
    }
    if form["kind"]:
        selection["kinds"] = [form["kind"]]
    if form["read_only"]:
        selection["annotations"] = {"readOnlyHint": True}
    values: dict[str, Any] = {name: form[name] for name in ("k", "recipe", "token_budget", "detail")}
    # An empty form uses the server's own selection.
    values |= {"needs": form["needs"].splitlines(), "selection": selection}
    values = {name: value for name, value in values.items() if value}
    return converted({**values, "explain": True, "feedback": False}, ServedOptions, strict=False).arguments()
