"""Filters before the search: by name, provider, category, kind and annotation, and by the request's own category."""

import json
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from router.record import ToolRecord
from router.retrieval.retrievers import Admitted
from router.selection.settings import Selection
from router.snapshot.facets import Facet, Facets

Mask = NDArray[np.bool_]


class Admission(msgspec.Struct, frozen=True, eq=False):
    """The tools that a selection admits: None for all. `notes` say which settings had no effect, and why.

    `filters` are those that were applied, in order, each with its name, the reason that it gives a refused tool, and
    the mask of the tools that pass.
    """

    admitted: Admitted | None = None
    filters: tuple[tuple[str, str, Mask], ...] = ()
    notes: tuple[str, ...] = ()

    def refusal(self, ordinal: int) -> tuple[str, str] | None:
        """Return the name and the reason of the first filter that refuses a tool; None for an admitted tool."""
        return next(((name, reason) for name, reason, mask in self.filters if not mask[ordinal]), None)


def admit(
    facets: Callable[[], Facets], selection: Selection, category: str | None, confidence: float | None
) -> Admission:
    """Return what a selection admits for a request, whose category and confidence may be None.

    `facets` is called only where a filter needs them.
    """
    by_category = selection.use_category_filter and category is not None and bool(category.strip())
    if selection.admits_all and not by_category:
        return Admission()
    catalog = facets()
    filters = list(_filters(catalog, selection))
    mask = np.ones(len(catalog.rows), bool)
    if filters:
        mask = np.logical_and.reduce([passing for _, _, passing in filters])
    # Without a note, a misspelled name would block nothing and nobody would know.
    notes = [
        f"{field}: no tool is called {pattern!r}"
        for field in ("allow", "block")
        for pattern in catalog.unknown(getattr(selection, field))
    ]
    if by_category and category is not None:
        threshold = selection.category_confidence_threshold
        in_category = catalog.of_categories([category])
        if threshold is not None and (confidence is None or confidence < threshold):
            reason = "it came without a confidence" if confidence is None else f"its confidence is {confidence:g}"
            notes.append(f"the category {category!r} does not filter: {reason}, and {threshold:g} is required")
        elif not (in_category & mask).any():
            notes.append(f"the category {category!r} does not filter: no tool that the selection allows has it")
        else:
            filters.append(("category", f"it is not of the request's category, {category!r}", in_category))
            mask = mask & in_category
    return Admission(Admitted(mask), tuple(filters), tuple(notes))


def admitted(selection: Selection, records: Sequence[ToolRecord]) -> list[ToolRecord]:
    """Return the records that a selection admits by itself, outside of any answer; those of `always` are."""
    admission = admit(lambda: Facets(tuple(map(Facet.of, records))), selection, None, None)
    return [
        record
        for ordinal, record in enumerate(records)
        if record.tool_id in selection.always or not admission.refusal(ordinal)
    ]


def refusal_reason(selection: Selection, record: ToolRecord) -> str | None:
    """Return why a selection refuses a tool by itself, outside of any answer; None where it admits it."""
    if record.tool_id in selection.always:
        return None
    refused = admit(lambda: Facets((Facet.of(record),)), selection, None, None).refusal(0)
    return None if refused is None else refused[1]


def _filters(facets: Facets, selection: Selection) -> Iterator[tuple[str, str, Mask]]:
    if chosen := selection.allow:
        yield "allow", f"not allowed by the selection (allow: {_listed(chosen)})", facets.matching(chosen)
    if chosen := selection.block:
        yield "block", f"blocked by the selection (block: {_listed(chosen)})", ~facets.matching(chosen)
    if chosen := selection.providers:
        yield "providers", f"its provider is not among {_listed(chosen)}", facets.of_providers(chosen)
    if chosen := selection.categories:
        yield "categories", f"it has none of the categories {_listed(chosen)}", facets.of_categories(chosen)
    if kinds := selection.kinds:
        yield "kinds", f"its kind is none of: {_listed(kinds)}", facets.of_kinds(kinds)
    if selection.annotations:
        hints = ", ".join(f"{name} = {json.dumps(value, default=str)}" for name, value in selection.annotations.items())
        yield "annotations", f"its vendor does not declare {hints}", facets.annotated(selection.annotations)


def _listed(values: tuple[str, ...], most: int = 5) -> str:
    return ", ".join(values[:most]) + (f" and {len(values) - most} more" if len(values) > most else "")
