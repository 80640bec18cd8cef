"""The settings of a selection. By default they change nothing: the answer is the fused ranking, cut to k."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from router.errors import SettingsInvalid
from router.record import Kind
from router.snapshot.facets import WILDCARDS
from router.typed import check_fields, converted, is_nested_deeper

MAX_WILDCARDS = 1_000
_MAX_DEPTH = 32  # of an annotation's value
_PLACE = "selection: "

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
# A filter costs time for each name, and for a wildcard of it that of each tool of the catalog.
Names = Annotated[tuple[Annotated[str, Meta(pattern=r"\S", max_length=1_024)], ...], Meta(max_length=10_000)]


class Weights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Weights of the combined score, each from 0 to 1, or None for not set. With none set, `embed` counts 1.

    "Advanced Tool Filtering for Tool Selection" (vLLM Semantic Router, #1002) defines the five signals;
    `router.selection.relevance` computes them.
    """

    embed: Share | None = None
    lexical: Share | None = None
    tag: Share | None = None
    name: Share | None = None
    category: Share | None = None

    def __post_init__(self) -> None:
        check_fields(self, f"{_PLACE}weights.")

    @property
    def any_set(self) -> bool:
        """Return True where any weight is set, even to 0."""
        return self != _NO_WEIGHTS

    def resolved(self) -> Mapping[str, float]:
        """Return every weight by name, with defaults filled in."""
        if not self.any_set:
            return {name: float(name == "embed") for name in self.__struct_fields__}
        return {name: getattr(self, name) or 0.0 for name in self.__struct_fields__}


_NO_WEIGHTS = Weights()


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Filters on the tools of an answer, and the order of its candidates. Raises SettingsInvalid, naming the field.

    Lists, providers, categories, kinds and annotations filter before the search, so that a narrow filter still fills
    the answer. Overlap, combined score and provider filter the first `candidate_pool_size` tools found.
    """

    allow: Annotated[
        Names,
        Meta(
            description="Tools by id, by name, or by a glob over either (`stripe/*`, `*delete*`), in any case. Empty "
            "allows all."
        ),
    ] = ()
    block: Annotated[Names, Meta(description="Tools that are refused, written as in `allow`.")] = ()
    providers: Annotated[Names, Meta(description="Only tools of one of these providers.")] = ()
    categories: Annotated[Names, Meta(description="Only tools of one of these categories.")] = ()
    kinds: Annotated[tuple[Kind, ...], Meta(description="Only entries of these kinds; empty for all.")] = ()
    annotations: Annotated[
        Mapping[str, Any],
        Meta(
            description='Only tools whose vendor declares exactly these, such as {"readOnlyHint": true}; a '
            "declaration, not a permission."
        ),
    ] = {}
    use_category_filter: Annotated[
        bool, Meta(description="Only tools of the request's category, if some admitted tool has it.")
    ] = False
    category_confidence_threshold: Annotated[
        Share | None, Meta(description="The confidence that the request's category needs for that; null for any.")
    ] = None
    candidate_pool_size: Annotated[
        Count | None, Meta(description="How many tools found are filtered by overlap and score; null for max(5 k, 20).")
    ] = None
    min_lexical_overlap: Annotated[
        int, Meta(ge=0, le=1_000_000, description="Drop tools that share fewer tokens with the request.")
    ] = 0
    min_combined_score: Annotated[Share, Meta(description="Drop tools with a lower combined score.")] = 0.0
    weights: Annotated[
        Weights, Meta(description="The combined score's weights. Where any is set, that score orders the tools.")
    ] = _NO_WEIGHTS
    max_per_provider: Annotated[
        Count | None, Meta(description="The most candidates of one provider, the best of them; null for any number.")
    ] = None
    always: Annotated[
        Names,
        Meta(
            description="Ids that are in every answer beside its ranked tools (`RoutedTools.always`), whatever the "
            "filters."
        ),
    ] = ()
    empty_if_none_fits: Annotated[
        bool, Meta(description="Return no ranked tools where the calibration says that none fits.")
    ] = False
    fallback_to_empty: Annotated[
        bool,
        Meta(description="Return an answer without ranked tools where none is left; false raises NothingSelected."),
    ] = True

    def __post_init__(self) -> None:
        check_fields(self, _PLACE)
        if self.annotations and is_nested_deeper(self.annotations, _MAX_DEPTH + 1):
            raise SettingsInvalid(f"selection: annotations are nested deeper than {_MAX_DEPTH} levels")
        if (self.allow or self.block) and self.wildcards > MAX_WILDCARDS:
            limit = f"they may have {MAX_WILDCARDS:,} at most"
            raise SettingsInvalid(f"selection: allow and block have {self.wildcards:,} wildcards (* ? [), {limit}")

    @property
    def wildcards(self) -> int:
        """Return how many marks `*`, `?` and `[` allow and block have: what their globs cost."""
        return sum(pattern.count(mark) for pattern in (*self.allow, *self.block) for mark in WILDCARDS)

    @property
    def admits_all(self) -> bool:
        """Return True where no filter applies before the search, the request's category aside."""
        return not (self.allow or self.block or self.providers or self.categories or self.kinds or self.annotations)

    @property
    def scores(self) -> bool:
        """Return True where candidates are filtered, or reordered."""
        thresholds = self.min_lexical_overlap or self.min_combined_score or self.max_per_provider
        return bool(thresholds or self.weights.any_set)

    def pool(self, k: int) -> int:
        """Return how many of the tools found are candidates for an answer of k."""
        return self.candidate_pool_size or max(5 * k, 20)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Return a selection from its fields. Raises SettingsInvalid for an unknown field or a value out of range."""
        return converted(row, cls, place=_PLACE)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return a selection from a TOML or JSON file, with the fields at the top or under [selection].

        Raises SettingsInvalid where the file cannot be read, or a field is unknown or out of range.
        """
        import tomllib  # here: a router reads no settings file

        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
            row = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except (OSError, ValueError, RecursionError) as error:  # of decoding and of both formats
            raise SettingsInvalid(f"the selection {path} cannot be read: {error}") from error
        if isinstance(row, dict) and isinstance(row.get("selection"), dict):
            row = row["selection"]
        if not isinstance(row, dict):
            raise SettingsInvalid(f"the selection {path} is not a table of fields")
        try:
            return cls.from_json(row)
        except SettingsInvalid as error:
            raise SettingsInvalid(f"{path}: {error}") from None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict, which `from_json` reads back."""
        row = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in msgspec.structs.asdict(self).items()
        }
        weights = {name: value for name, value in msgspec.structs.asdict(self.weights).items() if value is not None}
        return {**row, "annotations": dict(self.annotations), "weights": weights}
