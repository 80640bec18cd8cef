"""The folder in which this user's exported encoders and the caches of buckets lie."""

import os
from collections.abc import Mapping
from pathlib import Path

from router.errors import SettingsInvalid

CACHE_VARIABLE = "QUARTERMASTER_CACHE"


def user_cache(environment: Mapping[str, str] | None = None) -> Path:
    """Return QUARTERMASTER_CACHE, else the platform's cache folder for Quartermaster.

    It may be deleted: everything in it can be made again. Raises SettingsInvalid where the variable names the home of a
    user that does not exist.
    """
    if chosen := (os.environ if environment is None else environment).get(CACHE_VARIABLE):
        try:
            return Path(chosen).expanduser()
        except RuntimeError as error:
            raise SettingsInvalid(f"{CACHE_VARIABLE} is {chosen!r}: {error}") from None
    from platformdirs import user_cache_path

    return user_cache_path("quartermaster", appauthor=False)
