"""The settings of a selection. By default they change nothing: the answer is the fused ranking, cut to k."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn, Self

from router.errors import SettingsInvalid, quoted
from router.record import Kind
from router.snapshot.globs import WILDCARDS

# Of one list and one name. A filter costs time for each, and a wildcard for each tool of the catalog.
MAX_NAMES, MAX_NAME_LENGTH = 10_000, 1_024
MAX_WILDCARDS = 1_000
_MAX_DEPTH = 32  # of an annotation's value


def _check_fields(where: str, row: Mapping[str, Any], known: type) -> None:
    names = [part.name for part in fields(known)]
    if unknown := sorted(set(row) - set(names)):
        raise SettingsInvalid(f"selection: there is no field {where}{unknown[0]:.80}: choose from {', '.join(names)}")


def _check_texts(name: str, value: object) -> None:
    # A single text would be read as its letters.
    if not isinstance(value, tuple) or not all(isinstance(item, str) and item.strip() for item in value):
        _refuse(name, value, "a list of texts")
    if len(value) > MAX_NAMES:
        raise SettingsInvalid(f"selection: {name} has {len(value):,} entries, it may have {MAX_NAMES:,} at most")
    if longest := next((item for item in value if len(item) > MAX_NAME_LENGTH), None):
        limit = f"it may have {MAX_NAME_LENGTH:,} at most"
        raise SettingsInvalid(f"selection: {name} has {longest[:40]!r}… of {len(longest):,} characters, {limit}")


def _check_share(name: str, value: object, optional: bool = False) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        _refuse(name, value, "a number from 0 to 1" + (", or left out" if optional else ""))


def is_count(value: object) -> bool:
    """Return whether a value is a whole number from 0 up."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _refuse(name: str, value: object, allowed: str) -> NoReturn:
    raise SettingsInvalid(f"selection: {name} is {quoted(value)}, it must be {allowed}")


def _is_nested_deeper(value: object, depth: int) -> bool:
    """Return whether lists and tables are nested deeper than `depth`."""
    level = [value]
    for _ in range(depth + 1):
        level = [part for parent in level for part in _parts(parent)]
        if not level:
            return False
    return True


def _parts(value: object) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the combined score, each from 0 to 1, or None for not set. With none set, `embed` counts 1.

    "Advanced Tool Filtering for Tool Selection" (vLLM Semantic Router, #1002) defines the five signals;
    `router.selection.relevance` computes them.
    """

    embed: float | None = None
    lexical: float | None = None
    tag: float | None = None
    name: float | None = None
    category: float | None = None

    def __post_init__(self) -> None:
        for part in fields(self):
            _check_share(f"weights.{part.name}", getattr(self, part.name), optional=True)

    @property
    def any_set(self) -> bool:
        """Return True where any weight is set, even to 0."""
        return any(getattr(self, part.name) is not None for part in fields(self))

    def resolved(self) -> Mapping[str, float]:
        """Return every weight by name, with defaults filled in."""
        if not self.any_set:
            return {part.name: float(part.name == "embed") for part in fields(self)}
        return {part.name: getattr(self, part.name) or 0.0 for part in fields(self)}


@dataclass(frozen=True, slots=True)
class Selection:
    """Filters on the tools of an answer, and the order of its candidates. Raises SettingsInvalid, naming the field.

    Lists, providers, categories, kinds and annotations filter before the search, so that a narrow filter still fills
    the answer. Overlap, combined score and provider filter the first `candidate_pool_size` tools found.

    Attributes:
        allow: Tools by id, by name, or by a glob over either (`stripe/*`, `*delete*`), in any case. Empty allows all.
        block: Tools that are refused, written as in `allow`.
        providers: Only tools of one of these providers.
        categories: Only tools of one of these categories.
        kinds: Only entries of these kinds: "tool", "skill", "prompt". Empty for all.
        annotations: Only tools whose vendor declares exactly these, such as {"readOnlyHint": True}; a declaration, not
            a permission.
        use_category_filter: Only tools of the request's category, if some admitted tool has it.
        category_confidence_threshold: The confidence that the request's category needs for that; None for any.
        candidate_pool_size: How many tools found are filtered by overlap and score; None for max(5 k, 20).
        min_lexical_overlap: Drop tools that share fewer tokens with the request.
        min_combined_score: Drop tools with a lower combined score.
        weights: The combined score's weights. Where any is set, the combined score orders the tools.
        max_per_provider: How many of the candidates may be of one provider, the best of them; None for any number.
        always: Ids that are in every answer beside its ranked tools (`RoutedTools.always`), whatever the filters.
        empty_if_none_fits: Return no ranked tools where the calibration says that none fits.
        fallback_to_empty: Return an answer without ranked tools where none is left; False raises NothingSelected.
    """

    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    use_category_filter: bool = False
    category_confidence_threshold: float | None = None
    candidate_pool_size: int | None = None
    min_lexical_overlap: int = 0
    min_combined_score: float = 0.0
    weights: Weights = Weights()
    max_per_provider: int | None = None
    always: tuple[str, ...] = ()
    empty_if_none_fits: bool = False
    fallback_to_empty: bool = True

    def __post_init__(self) -> None:
        for name in ("allow", "block", "providers", "categories", "kinds", "always"):
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))
            _check_texts(name, getattr(self, name))
        if unknown := [kind for kind in self.kinds if kind not in list(Kind)]:
            _refuse("kinds", unknown[0], f"some of {', '.join(Kind)}")
        for name in ("use_category_filter", "empty_if_none_fits", "fallback_to_empty"):
            if not isinstance(value := getattr(self, name), bool):
                _refuse(name, value, "true or false")
        if not isinstance(self.annotations, Mapping) or not all(isinstance(key, str) for key in self.annotations):
            _refuse(
                "annotations", self.annotations, 'a table of hints and their values, such as {"readOnlyHint": true}'
            )
        if _is_nested_deeper(self.annotations, _MAX_DEPTH):
            raise SettingsInvalid(f"selection: annotations are nested deeper than {_MAX_DEPTH} levels")
        if self.wildcards > MAX_WILDCARDS:
            limit = f"they may have {MAX_WILDCARDS:,} at most"
            raise SettingsInvalid(f"selection: allow and block have {self.wildcards:,} wildcards (* ? [), {limit}")
        if not isinstance(self.weights, Weights):
            _refuse("weights", self.weights, f"a table of {', '.join(part.name for part in fields(Weights))}")
        _check_share("category_confidence_threshold", self.category_confidence_threshold, optional=True)
        _check_share("min_combined_score", self.min_combined_score)
        if not is_count(self.min_lexical_overlap):
            _refuse("min_lexical_overlap", self.min_lexical_overlap, "a whole number from 0 up")
        for name in ("candidate_pool_size", "max_per_provider"):
            if (value := getattr(self, name)) is not None and not (is_count(value) and value):
                _refuse(name, value, "a whole number from 1 up")

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
        _check_fields("", row, cls)
        values = dict(row)
        if isinstance(weights := values.get("weights"), Mapping):
            _check_fields("weights.", weights, Weights)
            values["weights"] = Weights(**weights)
        return cls(**values)

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
        row = {part.name: getattr(self, part.name) for part in fields(self)}
        weights = {
            part.name: value for part in fields(Weights) if (value := getattr(self.weights, part.name)) is not None
        }
        lists = {name: list(value) for name, value in row.items() if isinstance(value, tuple)}
        return {**row, **lists, "annotations": dict(self.annotations), "weights": weights}
