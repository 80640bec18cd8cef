"""Which tools a request may find: lists, providers, categories, annotations, and the request's own category."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.retrievers import Admitted
from router.selection.facets import Facets
from router.selection.settings import Selection

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Admission:
    """What a selection admits: None where that is every tool. `notes` say what was asked for and could not be done.

    `filters` are the filters that were applied, in order: their name, what they ask for, and the mask of what they let
    pass.
    """

    admitted: Admitted | None = None
    filters: tuple[tuple[str, str, Mask], ...] = ()
    notes: tuple[str, ...] = ()

    def refusal(self, ordinal: int) -> tuple[str, str] | None:
        """The first filter that leaves a tool out, and what it asks for; None for an admitted tool."""
        return next(((by, what) for by, what, mask in self.filters if not mask[ordinal]), None)


def admit(
    facets: Callable[[], Facets], selection: Selection, category: str | None, confidence: float | None
) -> Admission:
    """What a selection admits for a request of a category. `facets` are read only where a filter looks at them."""
    gates = selection.use_category_filter and category is not None and bool(category.strip())
    if selection.admits_all and not gates:
        return Admission()
    held = facets()
    filters = list(_filters(held, selection))
    mask = np.logical_and.reduce([passing for _, _, passing in filters]) if filters else np.ones(len(held.rows), bool)
    # A name that is misspelled would block nothing, unsaid.
    notes = [
        f"{field}: there is no tool {pattern!r}"
        for field in ("allow", "block")
        for pattern in held.unknown(getattr(selection, field))
    ]
    if gates and category is not None:
        threshold = selection.category_confidence_threshold
        within = held.of_categories([category])
        if threshold is not None and (confidence is None or confidence < threshold):
            said = "no confidence came with it" if confidence is None else f"its confidence {confidence:g}"
            notes.append(f"not filtered by the category {category!r}: {said}, below {threshold:g}")
        elif not (within & mask).any():
            notes.append(f"not filtered by the category {category!r}: no admitted tool has it")
        else:
            filters.append(("category", f"the request's category is {category!r}", within))
            mask = mask & within
    return Admission(Admitted(mask), tuple(filters), tuple(notes))


def _filters(facets: Facets, selection: Selection) -> Iterator[tuple[str, str, Mask]]:
    if selection.allow:
        yield "allow", f"allowed are {_listed(selection.allow)}", facets.matching(selection.allow)
    if selection.block:
        yield "block", f"blocked are {_listed(selection.block)}", ~facets.matching(selection.block)
    if selection.providers:
        yield "providers", f"providers are {_listed(selection.providers)}", facets.of_providers(selection.providers)
    if selection.categories:
        yield (
            "categories",
            f"categories are {_listed(selection.categories)}",
            facets.of_categories(selection.categories),
        )
    if selection.annotations:
        hints = ", ".join(f"{name} = {value!r}" for name, value in selection.annotations.items())
        yield "annotations", f"asked for is {hints}", facets.annotated(selection.annotations)


def _listed(values: tuple[str, ...], most: int = 5) -> str:
    return ", ".join(values[:most]) + (f" and {len(values) - most} more" if len(values) > most else "")
