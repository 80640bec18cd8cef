"""What visitors send from the pages: a request and its options, whether a tool was right for it, suggested phrases.

What changes anything comes only from these pages: a browser says where a form comes from, and no other site may use
its access.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from quartermaster.serving import ServedOptions
from quartermaster.serving.page.rendering import tool_path
from quartermaster.serving.profiles import Caller
from quartermaster.serving.suggestions import SuggestionRefused, Suggestions
from router.answer.options import RouteOptions
from router.errors import SettingsInvalid
from router.typed import converted

TakeForm = Callable[[Caller, Mapping[str, str]], Response]
REPORTS = ("succeeded", "rejected")  # the outcomes that a visitor can tell
MAX_REQUEST = 4_000  # characters; the forms take no more
_LISTS = ("allow", "block", "providers", "categories")
_BLANK = dict.fromkeys(("request", "needs", "recipe", *_LISTS, "kind", "token_budget", "read_only"), "") | {
    "k": "10",
    "detail": "full",
}
_FORM = "application/x-www-form-urlencoded"
_MAX_FIELDS, _MAX_BYTES = 32, 65_536


def form_of(fields: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a request's form, valid or not, so that the page can show them again.

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


def forms(reports: bool, suggestions: Suggestions | None) -> dict[str, TakeForm]:
    """Return what takes in each form, by path: `reports` where the router has a feedback log, and suggestions."""

    def report(caller: Caller, fields: Mapping[str, str]) -> Response:
        form, tool_id, outcome = form_of(fields), _tool_of(caller, fields), fields.get("outcome", "")
        if outcome not in REPORTS or len(form["request"]) > MAX_REQUEST:
            raise SettingsInvalid(f"a report has an outcome, {' or '.join(REPORTS)}, and the request")
        caller.router.feedback(form["request"], tool_id, outcome, caller=caller.token)
        caller.actions.offer([tool_id], [form["request"]])
        return _see("/", **changed(form), told=tool_id, outcome=outcome)

    def suggest(caller: Caller, fields: Mapping[str, str]) -> Response:
        assert suggestions is not None
        tool_id, phrase = _tool_of(caller, fields), fields.get("phrase", "")
        try:
            suggestions.add(tool_id, phrase, caller.token)
        except SuggestionRefused as error:
            raise HTTPException(503, str(error)) from error
        caller.actions.described.append(tool_id)
        caller.actions.texts.append(phrase)
        return _see(tool_path(tool_id), suggested="1")

    taken: dict[str, TakeForm] = {"/report": report} if reports else {}
    return taken | ({"/suggest": suggest} if suggestions is not None else {})


def check_origin(request: Request) -> None:
    """Refuse a form unless the browser says that a page of this server sent it. Raises HTTPException.

    Sec-Fetch-Site comes over TLS and on this machine, Origin from every browser. A proxy may change the scheme, so only
    the host is compared.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin", "")
    own = site == "same-origin" if site is not None else urlsplit(origin).netloc == request.headers.get("host")
    if not own:
        raise HTTPException(403, "this form did not come from a page of this server, so it is not taken in")


def form_fields(body: bytes, content_type: str) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException where the body is none, or too large."""
    if content_type.partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, f"a form is {_FORM}")
    if len(body) > _MAX_BYTES:
        raise HTTPException(413, f"a form has {_MAX_BYTES:,} bytes at most")
    try:
        return dict(parse_qsl(body.decode(), errors="replace", max_num_fields=_MAX_FIELDS))
    except ValueError as error:
        raise HTTPException(400, f"the form cannot be read: {error}") from error


def _tool_of(caller: Caller, fields: Mapping[str, str]) -> str:
    """Return the tool that a form names. Raises HTTPException where the caller sees none of that id."""
    tool_id = fields.get("tool_id", "")
    if caller.router.record(tool_id) is None:
        raise HTTPException(404, f"there is no tool {tool_id!r}")
    return tool_id


def _see(path: str, **fields: str) -> Response:
    """Return what leads the browser on to a page, so that to load it again sends nothing twice."""
    query = urlencode(fields, encoding="utf-8", errors="replace")
    return RedirectResponse(f"{path}?{query}", 303)
