"""Addresses of catalogs in buckets, as users give them."""

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import unquote

from router.errors import SettingsInvalid
from router.user_cache import user_cache

SCHEMES = ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "file")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def is_url(source: object) -> bool:
    """Return whether a snapshot source is an address rather than a path."""
    return isinstance(source, str) and _URL.match(source) is not None


def checked_url(url: str) -> str:
    """Return an address without a slash at its end.

    Raises SettingsInvalid where its scheme is unknown, it names no catalog, or it holds a secret.
    """
    match = _URL.match(url)
    scheme = match[1].lower() if match else ""
    if scheme not in SCHEMES:
        raise SettingsInvalid(
            f"{_without_secret(url)!r} is not the address of a bucket: it must begin with one of "
            f"{', '.join(f'{scheme}://' for scheme in SCHEMES)}"
        )
    if "@" in url or "?" in url or "#" in url:
        raise SettingsInvalid(
            f"{_without_secret(url)!r} must hold no credentials and no options: they come from the environment, such "
            "as AWS_ACCESS_KEY_ID"
        )
    address = url.rstrip("/")
    bucket, _, path = address.partition("://")[2].partition("/")
    if not path or (scheme != "file" and not bucket) or ".." in path.split("/") or "" in path.split("/"):
        raise SettingsInvalid(f"{url[:200]!r} names no catalog: it must be like {scheme}://bucket/catalogs/demo")
    return address


def catalog_of(url: str) -> str:
    """Return the catalog's name: the last part of its address."""
    return url.rsplit("/", 1)[-1]


def folder_of(url: str) -> Path | None:
    """Return the folder of a file:// address; None for any other."""
    scheme, _, path = url.partition("://")
    return Path(unquote(path)) if scheme.lower() == "file" else None


def allows_http() -> bool:
    """Return whether the environment names an endpoint without TLS, such as a MinIO or an emulator."""
    names = (
        *("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
        *("GOOGLE_BASE_URL", "AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT"),
    )
    return any(os.environ.get(name, "").lower().startswith("http://") for name in names)


def _without_secret(url: str) -> str:
    """Return the part of an address that may stand in a message."""
    return re.split(r"[?#]", re.sub(r"://[^/@]*@", "://…@", url))[0][:200]


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
