"""Which tools a request may find: lists, providers, categories, annotations, and the request's own category."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord
from router.retrieval.retrievers import Admitted
from router.selection.settings import Selection
from router.snapshot.facets import Facet, Facets

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
        f"{field}: no tool is called {pattern!r}"
        for field in ("allow", "block")
        for pattern in held.unknown(getattr(selection, field))
    ]
    if gates and category is not None:
        threshold = selection.category_confidence_threshold
        within = held.of_categories([category])
        if threshold is not None and (confidence is None or confidence < threshold):
            said = "it came without a confidence" if confidence is None else f"its confidence is {confidence:g}"
            notes.append(f"the category {category!r} does not filter: {said}, and {threshold:g} is required")
        elif not (within & mask).any():
            notes.append(f"the category {category!r} does not filter: no tool that the selection allows has it")
        else:
            filters.append(("category", f"it is not of the request's category, {category!r}", within))
            mask = mask & within
    return Admission(Admitted(mask), tuple(filters), tuple(notes))


def refusal_reason(selection: Selection, record: ToolRecord) -> str | None:
    """Return why a selection refuses a tool by itself, outside of any answer; None where it admits it."""
    if record.tool_id in selection.always:
        return None
    refused = admit(lambda: Facets((Facet.of(record),)), selection, None, None).refusal(0)
    return None if refused is None else refused[1]


def _filters(facets: Facets, selection: Selection) -> Iterator[tuple[str, str, Mask]]:
    if selection.allow:
        yield (
            "allow",
            f"not allowed by the selection (allow: {_listed(selection.allow)})",
            facets.matching(selection.allow),
        )
    if selection.block:
        yield (
            "block",
            f"blocked by the selection (block: {_listed(selection.block)})",
            ~facets.matching(selection.block),
        )
    if selection.providers:
        named = _listed(selection.providers)
        yield "providers", f"its provider is not among {named}", facets.of_providers(selection.providers)
    if selection.categories:
        yield (
            "categories",
            f"it has none of the categories {_listed(selection.categories)}",
            facets.of_categories(selection.categories),
        )
    if selection.annotations:
        hints = ", ".join(f"{name} = {json.dumps(value, default=str)}" for name, value in selection.annotations.items())
        yield "annotations", f"its vendor does not declare {hints}", facets.annotated(selection.annotations)


def _listed(values: tuple[str, ...], most: int = 5) -> str:
    return ", ".join(values[:most]) + (f" and {len(values) - most} more" if len(values) > most else "")
