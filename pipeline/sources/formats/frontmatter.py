"""Split a Markdown file into its frontmatter (YAML between lines of `---`) and the text below it."""

import re
from typing import Any

import yaml

from pipeline.settings import LimitsSettings
from pipeline.sources.formats.yaml_values import parse_yaml

_FRONTMATTER = re.compile(r"\A---[ \t]*\n(.*?\n)??---[ \t]*(?:\n|\Z)", re.DOTALL)
_OPENED = re.compile(r"\A---[ \t]*\n")
_ENTRY = re.compile(r"^(?=[A-Za-z][\w-]*:(?:[ \t]|$))", re.MULTILINE)
_BLOCK_MARK = re.compile(r"\A[|>][+-]?\d?[ \t]*\n")


def split_frontmatter(text: str, limits: LimitsSettings) -> tuple[dict[str, Any], str, list[str]]:
    """Return the fields of the frontmatter, the text below it, and notices.

    Frontmatter that is no YAML as a whole, such as `description: Use when: …` or `argument-hint: [a] [b]`, which agents
    accept, is read field by field. Raises ValueError where it has no end.
    """
    text = text.lstrip()
    match = _FRONTMATTER.match(text)
    if match is None:
        if _OPENED.match(text) and _ENTRY.search(text):
            raise ValueError("its frontmatter has no end: close it by a line of ---")
        return {}, text.strip(), ["it has no frontmatter"]
    written, below = match[1] or "", text[match.end() :].strip()
    try:
        fields = _yaml(written, limits)
    except (yaml.YAMLError, ValueError):
        fields = {}
        for entry in _ENTRY.split(written):
            fields.update(_field(entry, limits))
        return fields, below, ["its frontmatter is no YAML: it was read field by field"]
    return fields if isinstance(fields, dict) else {}, below, []


def _field(entry: str, limits: LimitsSettings) -> dict[str, Any]:
    """Return one field of broken frontmatter by its name: its value where that is YAML, else its text on one line."""
    name, colon, value = entry.partition(":")
    if not colon or not _ENTRY.match(entry):
        return {}  # what stands before the first field
    try:
        field = _yaml(entry, limits)
        return field if isinstance(field, dict) else {}
    except (yaml.YAMLError, ValueError):
        text = " ".join(_BLOCK_MARK.sub("", value.lstrip(" \t")).split())
        quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
        return {name: text[1:-1] if quoted else text}


def _yaml(text: str, limits: LimitsSettings) -> Any:
    return parse_yaml(text, max_values=limits.document_values, max_characters=limits.document_bytes)
