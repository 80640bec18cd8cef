"""Names of tools that a provider takes, each a function of the tool's id alone, and the way back to the id.

    stripe/createRefund            → stripe__createRefund
    @acme/mail-mcp/send.now~2      → _-acme__mail-mcp__send-_now--2    (an MCP name keeps its dot)
    顧客/検索                        → tool--k5xw3qzb

A name that can be spelled out is: `/`, `@`, `.` and `~` have pairs of their own, and who reads it backwards has the id.
Where that fails (another character, too long, a pair in the id itself) the name says what it can and ends in a hash.
No name of the first kind ends as one of the second does, so two ids meet only where their hashes do.
"""

import re
from base64 import b32encode
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256

from router.provider_formats.formats import Form, ProviderLimits

_PAIRS = {"/": "__", "@": "_-", ".": "-_", "~": "--"}
_LETTERS = {pair: letter for letter, pair in _PAIRS.items()}
_PAIR = re.compile("__|_-|-_|--")
# 40 bits: ids that share the rest of the name are few, and `render` hands out no name twice.
_HASH_LENGTH = 8
_HASHED = re.compile(rf"--[a-z2-7]{{{_HASH_LENGTH}}}\Z")


def legal_name(tool_id: str, form: Form) -> str:
    """The tool's name in a form: legal, stable from turn to turn, equal in all forms of equal rules."""
    limits = form.spec.limits
    return _spelled(tool_id, limits) or _hashed(tool_id, limits)


def id_of(name: str, has: Callable[[str], bool], hashed: Callable[[], Mapping[str, str]]) -> str | None:
    """The id of the tool that a form gave this name; None where no tool has it.

    `has` tells whether there is a tool of an id. `hashed` gives `hashed_names` of the catalog's ids: asked only for a
    name that ends in a hash, so that a name that a model made up costs no look at every id.
    """
    if _HASHED.search(name):
        return hashed().get(name)
    tool_id = _read(name)
    spelled = any(_spelled(tool_id, limits) == name for limits in _name_limits())
    return tool_id if spelled and has(tool_id) else None


def hashed_names(tool_ids: Iterable[str]) -> dict[str, str]:
    """By name the ids whose names, in any form, end in a hash. Two ids of one name are both left out."""
    found: dict[str, str] = {}
    twice: set[str] = set()
    rules = _name_limits()
    for tool_id in tool_ids:
        for limits in rules:
            if _spelled(tool_id, limits) is None:
                name = _hashed(tool_id, limits)
                if found.setdefault(name, tool_id) != tool_id:
                    twice.add(name)
    return {name: tool_id for name, tool_id in found.items() if name not in twice}


def _name_limits() -> tuple[ProviderLimits, ...]:
    """Return the limits of all forms, one of those with equal rules for names: they give equal names."""
    return tuple({(form.spec.limits.length, form.spec.limits.marks): form.spec.limits for form in Form}.values())


@cache
def _spelling(marks: str) -> dict[int, str]:
    """Return the translation of characters to pairs, except for `marks`, which may stay as they are."""
    return str.maketrans({letter: pair for letter, pair in _PAIRS.items() if letter not in marks})


def _spelled(tool_id: str, limits: ProviderLimits) -> str | None:
    """The name that can be read back; None where there is none."""
    name = tool_id.translate(_spelling(limits.marks))
    legal = 0 < len(name) <= limits.length and not re.search(f"[^A-Za-z0-9{limits.marks}]", name)
    return name if legal and _read(name) == tool_id and not _HASHED.search(name) else None


def _read(name: str) -> str:
    return _PAIR.sub(lambda pair: _LETTERS[pair[0]], name)


def _hashed(tool_id: str, limits: ProviderLimits) -> str:
    """What can be kept of the id, the provider and the name of each a share, and the hash of the whole."""
    digest = sha256(tool_id.encode("utf-8", "surrogatepass")).digest()
    ending = f"--{b32encode(digest).decode().lower()[:_HASH_LENGTH]}"
    room = limits.length - len(ending)
    provider, _, name = (re.sub(f"[^A-Za-z0-9/{limits.marks}]+", "-", tool_id).replace("/", "__")).rpartition("__")
    name = name.strip("-_.")[: max(room - len(provider) - 2, room // 2)]
    provider = provider.strip("-_.")[: max(room - len(name) - 2, 0)]
    return (f"{provider}__{name}" if provider and name else provider or name or "tool") + ending
