"""Tell a web page, such as a login that a server answers with status 200, from a document of tools."""

import re

# No JSON and no YAML of tools begins like this; `<<` is a merge of YAML.
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\b|!--|\?xml\b|[a-z][a-z0-9:-]*[\s/>])", re.IGNORECASE)
_TYPES = ("text/html", "application/xhtml+xml")
START = 1024  # bytes that tell


def is_page(start: bytes, content_type: str = "") -> bool:
    """Return whether a body is a web page: by how it starts, or by its type.

    A body of JSON is none, whatever its type: many servers send everything as text/html unless told otherwise.
    """
    if _MARKUP.match(start):
        return True
    is_json = start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"["))
    return not is_json and content_type.partition(";")[0].strip().lower() in _TYPES
