"""A profile: which tools of a catalog a caller may see, and how much of them one request may ask for."""

import json
from dataclasses import dataclass, field, replace
from functools import cached_property

from router.errors import SettingsInvalid
from router.selection.settings import Selection, is_count

# The fields of a selection that say which tools there are. The others order tools, or leave out what hardly fits.
_PERMISSIONS = ("allow", "block", "providers", "categories", "kinds", "annotations")


@dataclass(frozen=True)
class Profile:
    """A named selection that its caller cannot leave. Raises SettingsInvalid, naming the field.

    Attributes:
        name: What logs call it.
        selection: `allow`, `block`, `providers`, `categories`, `kinds` and `annotations` say which tools there are, and
            `always` adds to them. The other fields hold beside those of a request: the stricter counts.
        call: Whether tools may be called, not only found and described.
        limit: The greatest k of a request; None for any.
        budget: The greatest token budget of a request, and that of a request without one; None for any.
    """

    name: str
    selection: Selection = field(default_factory=Selection)
    call: bool = True
    limit: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise SettingsInvalid(f"profile: name is {self.name!r}, it must be a text")
        if not isinstance(self.selection, Selection):
            raise SettingsInvalid(f"profile {self.name!r}: selection is {self.selection!r:.80}, it must be a Selection")
        if not isinstance(self.call, bool):
            raise SettingsInvalid(f"profile {self.name!r}: call is {self.call!r}, it must be true or false")
        for part in ("limit", "budget"):
            if (value := getattr(self, part)) is not None and not (is_count(value) and value):
                raise SettingsInvalid(
                    f"profile {self.name!r}: {part} is {value!r}, it must be a whole number from 1 up"
                )

    @property
    def sees_all(self) -> bool:
        """Return whether every tool of a catalog is within this profile."""
        return self.selection.admits_all

    @cached_property
    def permissions(self) -> Selection:
        """Return the part of the selection that says which tools there are."""
        return Selection(**{name: getattr(self.selection, name) for name in _PERMISSIONS})

    @cached_property
    def key(self) -> str:
        """Return a text that profiles share which admit the same tools of every catalog."""
        row = {**self.permissions.to_json(), "always": list(self.selection.always)}
        return json.dumps(row, sort_keys=True, default=repr)

    def narrow(self, selection: Selection) -> Selection:
        """Return a request's selection with this profile's thresholds, order and `always`.

        The profile's permissions are not in it: they decide which tools the request is answered from.
        """
        own = self.selection
        ordered = own.weights.any_set or own.min_combined_score > 0
        return replace(
            selection,
            candidate_pool_size=_least(own.candidate_pool_size, selection.candidate_pool_size),
            max_per_provider=_least(own.max_per_provider, selection.max_per_provider),
            min_lexical_overlap=max(own.min_lexical_overlap, selection.min_lexical_overlap),
            min_combined_score=max(own.min_combined_score, selection.min_combined_score),
            # Other weights would let tools pass that this profile's threshold refuses.
            weights=own.weights if ordered else selection.weights,
            always=tuple(dict.fromkeys((*own.always, *selection.always))),
            use_category_filter=own.use_category_filter or selection.use_category_filter,
            category_confidence_threshold=_threshold(own, selection),
            empty_if_none_fits=own.empty_if_none_fits or selection.empty_if_none_fits,
            fallback_to_empty=own.fallback_to_empty and selection.fallback_to_empty,
        )


def _least(*limits: int | None) -> int | None:
    """Return the least of the limits that are set; None where none is."""
    return min((limit for limit in limits if limit is not None), default=None)


def _threshold(own: Selection, requested: Selection) -> float | None:
    """Return the confidence above which the request's category filters: the lower one, since it filters more."""
    used = [selection for selection in (own, requested) if selection.use_category_filter] or [requested]
    thresholds = [selection.category_confidence_threshold for selection in used]
    return None if None in thresholds else min(value for value in thresholds if value is not None)
