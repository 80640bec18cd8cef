"""A profile: which tools of a catalog a caller may see, and how much of them one request may ask for."""

import json
import logging
from functools import cached_property, partial
from typing import Annotated, NoReturn

import msgspec
import numpy as np
from msgspec import Meta
from msgspec.structs import replace

from router.errors import SettingsInvalid
from router.selection.admission import Mask, admit
from router.selection.settings import Count, Selection
from router.snapshot.current import Freshness, LiveSnapshot
from router.snapshot.overlay import Overlay
from router.snapshot.restriction import restrict
from router.snapshot.snapshot import Snapshot
from router.snapshot.trust import Trust
from router.typed import check_fields

# The fields of a selection that say which tools there are. The others order tools, or leave out what hardly fits.
_PERMISSIONS = ("allow", "block", "providers", "categories", "kinds", "annotations")


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A named selection that its caller cannot leave. Raises SettingsInvalid, naming the field.

    Attributes:
        name: What logs call it.
        selection: `allow`, `block`, `providers`, `categories`, `kinds` and `annotations` say which tools there are, and
            `always` adds to them. The other fields hold beside those of a request: the stricter counts.
        call: Whether tools may be called, not only found and described.
        limit: The greatest k of a request; None for any.
        budget: The greatest token budget of a request, and that of a request without one; None for any.
    """

    name: Annotated[str, Meta(pattern=r"\S")]
    selection: Selection = Selection()
    call: bool = True
    limit: Count | None = None
    budget: Count | None = None

    def __post_init__(self) -> None:
        check_fields(self, f"profile {self.name!r:.80}: ")

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


_logger = logging.getLogger("router")


class ProfileSnapshot:
    """A `LiveSnapshot` with only a profile's tools. It cannot be changed: a change reaches other tools too."""

    def __init__(self, live: LiveSnapshot, profile: Profile) -> None:
        self._live = live
        self._profile = profile

    @property
    def snapshot(self) -> Snapshot:
        """Return the snapshot that serves now, restricted to the profile."""
        snapshot = self._live.snapshot
        if self._profile.sees_all:
            return snapshot
        return restrict(snapshot, self._profile.key, partial(_tools_of, self._profile, snapshot))

    @property
    def overlay(self) -> Overlay:
        """Return no overlay: it names the tools that others registered and removed."""
        return Overlay()

    @property
    def refusal(self) -> str:
        """Return why the newest publication was refused; empty where it serves."""
        return self._live.refusal

    @property
    def freshness(self) -> Freshness:
        """Return when what serves was last found to be the newest."""
        return self._live.freshness

    @property
    def trust(self) -> Trust | None:
        """Return what the router trusts; None where it checks no signature."""
        return self._live.trust

    def reload(self, *_given: object) -> NoReturn:
        """Raise SettingsInvalid: a change reaches other tools too."""
        raise SettingsInvalid(
            f"this router is of the profile {self._profile.name!r} and changes nothing: use the one that it was made of"
        )

    change = save = reload

    def close(self) -> None:
        """Do nothing: the snapshot is another router's."""


def _tools_of(profile: Profile, snapshot: Snapshot) -> Mask:
    """Return the mask of a profile's tools. Warns of names that no tool has."""
    admission = admit(lambda: snapshot.records.facets, profile.permissions, None, None)
    for note in admission.notes:
        _logger.warning("profile %r, snapshot %s: %s", profile.name, snapshot.manifest.snapshot, note)
    mask = np.ones(len(snapshot.records), bool) if admission.admitted is None else admission.admitted.mask.copy()
    for tool_id in profile.selection.always:
        if (ordinal := snapshot.records.ordinal(tool_id)) is not None:
            mask[ordinal] = True
    return mask
