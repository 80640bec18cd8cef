"""Where the snapshots of an address are cached on this machine."""

import hashlib
import os
import re
from pathlib import Path

from router.snapshot.store.bucket.url import catalog_of, checked_url
from router.user_cache import user_cache

CACHE_DIR_VARIABLE = "QUARTERMASTER_CACHE_DIR"


def default_cache_dir() -> Path:
    """Return the folder of the caches of all addresses: the environment's, or that beside this user's encoders."""
    if named := os.environ.get(CACHE_DIR_VARIABLE):
        return Path(named)
    return user_cache() / "buckets"


def cache_place(url: str, cache_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the catalog folder in which an address is cached: `<cache_dir>/<address>/snapshots/<catalog>`.

    `<cache_dir>/<address>` is a workspace to local commands. Raises SettingsInvalid where the address is wrong.
    """
    url = checked_url(url)
    words = re.sub(r"[^A-Za-z0-9]+", "-", url)[-80:].strip("-")
    key = hashlib.sha256(url.encode()).hexdigest()[:8]
    root = (default_cache_dir() if cache_dir is None else Path(cache_dir)).expanduser()
    return root.absolute() / f"{words}-{key}" / "snapshots" / catalog_of(url)
