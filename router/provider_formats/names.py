"""Names of tools that a provider accepts, each a function only of the tool's id, and the way back to the id.

    stripe/createRefund            → stripe__createRefund
    @acme/mail-mcp/send.now~2      → _-acme__mail-mcp__send-_now--2    (an MCP name keeps its dot)
    顧客/検索                        → tool--k5xw3qzb

Most names can be decoded: `/`, `@`, `.` and `~` are written as pairs of marks. Where that fails (another character, too
long, a pair in the id itself) the name keeps a part of the id and ends in a hash. No decodable name ends like a hashed
one, so that two ids get the same name only where their hashes are equal.
"""

import re
from base64 import b32encode
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256

from router.provider_formats.formats import FormatSpec, ProviderFormat

_PAIRS = {"/": "__", "@": "_-", ".": "-_", "~": "--"}
_LETTERS = {pair: letter for letter, pair in _PAIRS.items()}
_PAIR = re.compile("__|_-|-_|--")
# 40 bits: ids that share the rest of the name are few, and `render` hands out no name twice.
_HASH_LENGTH = 8
_NO_LETTER = "[0-9-]"
_HASHED = re.compile(rf"--[a-z2-7]{{{_HASH_LENGTH}}}\Z")


def legal_name(tool_id: str, form: ProviderFormat) -> str:
    """Return the tool's name in a form: legal, always the same, and equal in all forms with equal rules."""
    return _decodable_name(tool_id, form.spec) or _hashed_name(tool_id, form.spec)


def id_of(name: str, has: Callable[[str], bool], hashed: Callable[[], Mapping[str, str]]) -> str | None:
    """Return the id of the tool that has this name in some form; None where no tool has it.

    `has` says whether there is a tool of an id. `hashed` gives `hashed_names` of the catalog's ids. It is called only
    for a name that ends in a hash, so that a name that a model made up is cheap.
    """
    if _HASHED.search(name):
        return hashed().get(name)
    tool_id = _decoded(name)
    is_legal = any(_decodable_name(tool_id, spec) == name for spec in _naming_specs())
    return tool_id if is_legal and has(tool_id) else None


def hashed_names(tool_ids: Iterable[str]) -> dict[str, str]:
    """Return by name the ids whose names, in any form, end in a hash. Two ids of one name are both left out."""
    ids_by_name: dict[str, str] = {}
    ambiguous: set[str] = set()
    for tool_id in tool_ids:
        for spec in _naming_specs():
            if _decodable_name(tool_id, spec) is None:
                name = _hashed_name(tool_id, spec)
                if ids_by_name.setdefault(name, tool_id) != tool_id:
                    ambiguous.add(name)
    return {name: tool_id for name, tool_id in ids_by_name.items() if name not in ambiguous}


def _naming_specs() -> tuple[FormatSpec, ...]:
    """Return the forms, one of those with equal rules for names: they give equal names."""
    return tuple(
        {(form.spec.length, form.spec.marks, form.spec.first_letter): form.spec for form in ProviderFormat}.values()
    )


@cache
def _spelling(marks: str) -> dict[int, str]:
    """Return the translation of characters to pairs, except for `marks`, which may stay as they are."""
    return str.maketrans({letter: pair for letter, pair in _PAIRS.items() if letter not in marks})


def _decodable_name(tool_id: str, spec: FormatSpec) -> str | None:
    """Return the name that can be decoded to the id; None where there is none."""
    name = tool_id.translate(_spelling(spec.marks))
    legal = 0 < len(name) <= spec.length and not re.search(f"[^A-Za-z0-9{re.escape(spec.marks)}]", name)
    legal = legal and not (spec.first_letter and re.match(_NO_LETTER, name))
    return name if legal and _decoded(name) == tool_id and not _HASHED.search(name) else None


def _decoded(name: str) -> str:
    """Return the id that a decodable name stands for."""
    return _PAIR.sub(lambda pair: _LETTERS[pair[0]], name)


def _hashed_name(tool_id: str, spec: FormatSpec) -> str:
    """Return a part of the id, with a share for the provider and one for the name, and the hash of the whole id."""
    digest = sha256(tool_id.encode("utf-8", "surrogatepass")).digest()
    ending = f"--{b32encode(digest).decode().lower()[:_HASH_LENGTH]}"
    room = spec.length - len(ending)
    provider, _, name = (re.sub(f"[^A-Za-z0-9/{re.escape(spec.marks)}]+", "-", tool_id).replace("/", "__")).rpartition(
        "__"
    )
    name = name.strip("-_.")[: max(room - len(provider) - 2, room // 2)]
    provider = provider.strip("-_.")[: max(room - len(name) - 2, 0)]
    words = f"{provider}__{name}" if provider and name else provider or name or "tool"
    return (f"_{words[: room - 1]}" if spec.first_letter and re.match(_NO_LETTER, words) else words) + ending
