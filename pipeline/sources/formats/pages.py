"""Tell a web page, such as a login that a server answers with status 200, from a document of tools."""

import re

# No JSON and no YAML of tools begins like this; `<<` is a merge of YAML.
_MARKUP = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<(?:!doctype\b|!--|\?xml\b|[a-z][a-z0-9:-]*[\s/>])", re.IGNORECASE)
# JSON, YAML that begins with a key or an item, or UTF-16, which only a reader can tell.
_DOCUMENT = re.compile(rb"\A(?:\xff\xfe|\xfe\xff|(?:\xef\xbb\xbf)?(?:\s|#.*\n|---\s)*(?:[{\[]|-\s|[\w\"'.-]+:\s))")
_TYPES = ("text/html", "application/xhtml+xml")
START = 1024  # bytes that tell


def is_page(start: bytes, content_type: str = "") -> bool:
    """Return whether a body is a web page: by how it starts, or by its type.

    A body that may be JSON or YAML is none, whatever its type: many servers send everything as text/html.
    """
    if _MARKUP.match(start):
        return True
    return not _DOCUMENT.match(start) and content_type.partition(";")[0].strip().lower() in _TYPES
