"""The snapshot that serves, as a profile sees it."""

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np

from router.errors import SettingsInvalid
from router.selection.admission import Mask, admit
from router.selection.profile import Profile
from router.snapshot.freshness import Freshness
from router.snapshot.live import LiveSnapshot
from router.snapshot.overlay import Overlay
from router.snapshot.restriction import restrict
from router.snapshot.snapshot import Snapshot
from router.snapshot.trust import Trust

_logger = logging.getLogger("router")


class ProfileSnapshot:
    """A `LiveSnapshot` with the tools of a profile alone. It cannot be changed: a change reaches other tools too."""

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

    def reload(self) -> bool:
        """Raise SettingsInvalid."""
        self._refuse()

    def change(self, _change: Callable[[Overlay], Overlay]) -> Overlay:
        """Raise SettingsInvalid."""
        self._refuse()

    def save(self, _path: Path) -> None:
        """Raise SettingsInvalid."""
        self._refuse()

    def close(self) -> None:
        """Do nothing: the snapshot is another router's."""

    def _refuse(self) -> NoReturn:
        raise SettingsInvalid(
            f"this router is of the profile {self._profile.name!r} and changes nothing: use the one that it was made of"
        )


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
