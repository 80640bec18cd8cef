"""Sort requests into slices: as they are judged, by kind, by length, and by whether they name a provider."""

from collections.abc import Callable, Sequence

from quartermaster.evaluation.judgements import KINDS, Judgement
from router.text import identifier_words, pretokenize, terms

# Words as the index counts them: a search box's worth; a sentence; a few sentences; a paragraph with its data.
# See docs/decisions/evaluation.md.
_LENGTHS = ((4, "1-4 words"), (15, "5-15 words"), (40, "16-40 words"))
_LONGER = "over 40 words"

Slices = dict[str, list[int]]  # the positions of the requests of each slice


def slices(judgements: Sequence[Judgement], provider_of: Callable[[str], str | None]) -> dict[str, Slices]:
    """Return the slices by kind, by provider and by length; `provider_of` returns the provider of a tool id.

    Slices without requests are left out, and so is "provider" where no required tool has one. A request that no tool
    answers has no provider.
    """
    sorts: dict[str, Slices] = {
        "kind": {kind: [] for kind in KINDS},
        "provider": {"named": [], "not named": []},
        "length": {name: [] for name in (*(name for _, name in _LENGTHS), _LONGER)},
    }
    for position, judgement in enumerate(judgements):
        sorts["kind"][judgement.kind].append(position)
        sorts["length"][length(judgement.request)].append(position)
        providers = {provider for tool_id in judgement.primary if (provider := provider_of(tool_id))}
        if judgement.kind != "none" and providers:
            named = any(names(judgement.request, provider) for provider in providers)
            sorts["provider"]["named" if named else "not named"].append(position)
    filled = {by: {name: places for name, places in of.items() if places} for by, of in sorts.items()}
    return {by: of for by, of in filled.items() if of}


def judged_slices(judgements: Sequence[Judgement]) -> Slices:
    """Return the slices that the judgements name, sorted by name."""
    found = sorted({judgement.slice for judgement in judgements} - {""})
    return {name: [i for i, judgement in enumerate(judgements) if judgement.slice == name] for name in found}


def length(request: str) -> str:
    """Return the name of the slice for a request's length."""
    count = len(pretokenize(request).split())
    return next((name for most, name in _LENGTHS if count <= most), _LONGER)


def names(request: str, provider: str) -> bool:
    """Return whether a request has every word of a provider's name, or the name as one word: "GitHub", "git hub"."""
    request_terms = set(terms(request))
    parts = identifier_words(provider)
    return any(wanted and set(wanted) <= request_terms for wanted in (terms(" ".join(parts)), terms("".join(parts))))
