"""Sorts of requests, told by the request itself: its kind, its length, whether it names a provider."""

from collections.abc import Callable, Sequence

from router.evaluation.judgements import KINDS, Judgement
from router.text import identifier_words, pretokenize, terms

# Words as the index counts them. A search box's worth; a sentence; a few sentences; a paragraph with its data. On five
# public sets and the demo the quartiles lie at 8 and 26 words, and the tails of 5 % at 4 and 60.
_LENGTHS = ((4, "1-4 words"), (15, "5-15 words"), (40, "16-40 words"))
_LONGER = "over 40 words"


def slices(
    judgements: Sequence[Judgement], provider_of: Callable[[str], str | None]
) -> dict[str, dict[str, list[int]]]:
    """The positions of the requests of each slice: by kind, by provider, by length.

    `provider_of` gives a tool's provider. Left out are slices without requests, and "provider" where no required tool
    has one; a request that no tool answers has no provider.
    """
    found: dict[str, dict[str, list[int]]] = {
        "kind": {kind: [] for kind in KINDS},
        "provider": {"named": [], "not named": []},
        "length": {name: [] for name in (*(name for _, name in _LENGTHS), _LONGER)},
    }
    for position, judgement in enumerate(judgements):
        found["kind"][judgement.kind].append(position)
        found["length"][length(judgement.request)].append(position)
        primary = judgement.required.union(*judgement.groups) or judgement.acceptable
        providers = {provider for tool_id in primary if (provider := provider_of(tool_id))}
        if judgement.kind != "none" and providers:
            named = any(names(judgement.request, provider) for provider in providers)
            found["provider"]["named" if named else "not named"].append(position)
    filled = {by: {name: held for name, held in of.items() if held} for by, of in found.items()}
    return {by: of for by, of in filled.items() if of}


def length(request: str) -> str:
    """The slice of a request's length."""
    count = len(pretokenize(request).split())
    return next((name for most, name in _LENGTHS if count <= most), _LONGER)


def names(request: str, provider: str) -> bool:
    """Whether a request holds every word of a provider's name, or the name as one word: "GitHub", "git hub"."""
    held = set(terms(request))
    parts = identifier_words(provider)
    return any(wanted and set(wanted) <= held for wanted in (terms(" ".join(parts)), terms("".join(parts))))
