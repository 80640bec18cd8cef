"""Text of strangers as a page shows it. What HTML means by it is escaped by Jinja; this is what it does not."""

from urllib.parse import quote

# Characters that are not seen and do something: controls, marks that turn the direction of what follows, zero widths,
# separators, the byte order mark, tags.
_UNSEEN = frozenset(
    [
        *(set(range(32)) - {9, 10, 13}),
        *range(0x7F, 0xA0),
        0xAD,
        0x61C,
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
        *range(0xFFF9, 0xFFFC),
        *range(0xD800, 0xE000),
        *range(0xE0000, 0xE0080),
    ]
)


def shown(text: object, most: int = 2_000) -> str:
    """A text that shows what it holds: cut, with its length, and what is not seen by its code point."""
    whole = str(text)
    head = "".join(f"⟦U+{ord(c):04X}⟧" if ord(c) in _UNSEEN else c for c in whole[:most])
    return head if len(whole) <= most else f"{head} … ({len(whole):,} characters)"


def tool_path(tool_id: str) -> str:
    """The path of a tool's page. A browser would resolve `..` and `//`: then every slash is escaped."""
    plain = all(part not in ("", ".", "..") for part in tool_id.split("/"))
    return f"/tools/{quote(tool_id.encode('utf-8', 'replace'), safe='/' if plain else '')}"
