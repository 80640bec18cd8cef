"""Settings of a selection. Where nothing is set, nothing is done: the answer is the fused ranking, cut to k."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from router.errors import SettingsInvalid


def _check_fields(where: str, row: Mapping[str, Any], known: type) -> None:
    names = [part.name for part in fields(known)]
    if unknown := sorted(set(row) - set(names)):
        raise SettingsInvalid(f"selection: there is no field {where}{unknown[0]}: choose from {', '.join(names)}")


def _check_texts(name: str, value: object) -> None:
    # One text would be taken for its letters.
    if not isinstance(value, tuple) or not all(isinstance(item, str) and item.strip() for item in value):
        _refuse(name, value, "a list of texts")


def _check_share(name: str, value: object, optional: bool = False) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        _refuse(name, value, "a number from 0 to 1" + (", or left out" if optional else ""))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _refuse(name: str, value: object, allowed: str) -> None:
    raise SettingsInvalid(f"selection: {name} is {value!r}, it must be {allowed}")


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the combined score, each from 0 to 1; None is not set. With none set, `embed` is 1.

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
        """Whether any weight is set, be it to 0."""
        return any(getattr(self, part.name) is not None for part in fields(self))

    def resolved(self) -> Mapping[str, float]:
        """Every weight as it counts."""
        if not self.any_set:
            return {part.name: float(part.name == "embed") for part in fields(self)}
        return {part.name: getattr(self, part.name) or 0.0 for part in fields(self)}


@dataclass(frozen=True, slots=True)
class Selection:
    """What is filtered, and by what the candidates are ordered.

    **Before any list is cut**, so that a narrow filter still fills the answer:

    `allow`, `block`: tools by id, by name, or by a glob over either (`stripe/*`, `*delete*`), case apart; an empty
    `allow` allows all. `providers`, `categories`: only tools of one of these. `annotations`: only tools whose vendor
    says exactly so, such as {"readOnlyHint": True}; a vendor's word, not a permission. `use_category_filter`: only
    tools of the category that comes with the request, where its confidence reaches `category_confidence_threshold` (any
    confidence, and none, where that is None), and where some admitted tool has it.

    **Of the first `candidate_pool_size`** found (None: max(5 k, 20)): tools that share fewer than `min_lexical_overlap`
    tokens with the request are left out, and those whose combined score is below `min_combined_score`. Where any of
    `weights` is set, the combined score orders the others.

    `always`: ids that every answer has, beside its ranked tools (`RoutedTools.always`); no filter applies to them.
    `empty_if_none_fits`: no ranked tools where the snapshot says that none fits. `fallback_to_empty`: whether an answer
    without any ranked tool is an answer; else it raises NothingSelected.
    """

    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    use_category_filter: bool = False
    category_confidence_threshold: float | None = None
    candidate_pool_size: int | None = None
    min_lexical_overlap: int = 0
    min_combined_score: float = 0.0
    weights: Weights = Weights()
    always: tuple[str, ...] = ()
    empty_if_none_fits: bool = False
    fallback_to_empty: bool = True

    def __post_init__(self) -> None:
        for name in ("allow", "block", "providers", "categories", "always"):
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))
            _check_texts(name, getattr(self, name))
        for name in ("use_category_filter", "empty_if_none_fits", "fallback_to_empty"):
            if not isinstance(value := getattr(self, name), bool):
                _refuse(name, value, "true or false")
        if not isinstance(self.annotations, Mapping) or not all(isinstance(key, str) for key in self.annotations):
            _refuse(
                "annotations", self.annotations, 'a table of hints and their values, such as {"readOnlyHint": true}'
            )
        if not isinstance(self.weights, Weights):
            _refuse("weights", self.weights, f"a table of {', '.join(part.name for part in fields(Weights))}")
        _check_share("category_confidence_threshold", self.category_confidence_threshold, optional=True)
        _check_share("min_combined_score", self.min_combined_score)
        if not _is_count(self.min_lexical_overlap):
            _refuse("min_lexical_overlap", self.min_lexical_overlap, "a whole number from 0 up")
        if self.candidate_pool_size is not None and not (
            _is_count(self.candidate_pool_size) and self.candidate_pool_size
        ):
            _refuse("candidate_pool_size", self.candidate_pool_size, "a whole number from 1 up")

    @property
    def admits_all(self) -> bool:
        """Whether no tool is left out before the search."""
        return not (self.allow or self.block or self.providers or self.categories or self.annotations)

    @property
    def scores(self) -> bool:
        """Whether candidates are held against a threshold, or ordered anew."""
        return bool(self.min_lexical_overlap or self.min_combined_score or self.weights.any_set)

    def pool(self, k: int) -> int:
        """How many of the tools found are candidates for an answer of k."""
        return self.candidate_pool_size or max(5 * k, 20)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """A selection from settings. Raises SettingsInvalid, naming the field, on anything unknown or out of range."""
        _check_fields("", row, cls)
        values = dict(row)
        if isinstance(weights := values.get("weights"), Mapping):
            _check_fields("weights.", weights, Weights)
            values["weights"] = Weights(**weights)
        return cls(**values)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A selection from a TOML or JSON file: its fields at the top or under [selection]. Raises SettingsInvalid."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
            row = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except (OSError, ValueError) as error:  # of decoding and of both formats
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
        """A JSON-ready dict; `from_json` gives the selection back."""
        row = {part.name: getattr(self, part.name) for part in fields(self)}
        weights = {
            part.name: value for part in fields(Weights) if (value := getattr(self.weights, part.name)) is not None
        }
        lists = {name: list(value) for name, value in row.items() if isinstance(value, tuple)}
        return {**row, **lists, "annotations": dict(self.annotations), "weights": weights}
