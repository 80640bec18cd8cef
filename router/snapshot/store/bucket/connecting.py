"""Connects to a bucket, with the credentials and options that the environment gives.

obstore reads AWS_*, GOOGLE_* and AZURE_* variables, web identities, and the metadata services of the clouds. Profiles
and `aws sso login` are left to boto3, where it is installed.
"""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from router.errors import SettingsInvalid
from router.snapshot.store.bucket.url import allows_http

_CONNECT_S = 5.0
_MOST_RETRIES = 10


def connect(url: str, patience_s: float, request_s: float) -> Any:
    """Return obstore's store for a checked address; nothing is sent yet.

    A request may take `request_s` seconds, and what fails is tried again for `patience_s`. Raises SettingsInvalid,
    ValueError or an error of obstore where the environment does not fit.
    """
    from obstore.store import from_url

    scheme = url.partition(":")[0].lower()
    if scheme == "file":
        return from_url(url, mkdir=True)
    options: dict[str, Any] = {
        "client_options": {
            "connect_timeout": timedelta(seconds=min(_CONNECT_S, request_s)),
            "timeout": timedelta(seconds=request_s),
            "allow_http": allows_http(),
        },
        "retry_config": {"max_retries": _MOST_RETRIES, "retry_timeout": timedelta(seconds=patience_s)},
    }
    if scheme in ("s3", "s3a"):
        options |= _aws_options()
    return from_url(url, **options)


def _aws_options() -> dict[str, Any]:
    """Return what S3 needs beside obstore's own reading of the environment."""
    options: dict[str, Any] = {}
    if "AWS_CHECKSUM_ALGORITHM" not in os.environ:
        options["checksum_algorithm"] = "SHA256"  # of what is sent: the server refuses what arrives otherwise
    if _uses_profile():
        try:
            from boto3 import Session  # type: ignore[import-untyped]
            from obstore.auth.boto3 import Boto3CredentialProvider
        except ImportError as error:
            if "AWS_PROFILE" not in os.environ:
                return options  # a file of credentials that nobody asked for
            raise SettingsInvalid("AWS_PROFILE needs boto3: pip install boto3") from error
        session = Session()
        if session.get_credentials() is not None:
            options["credential_provider"] = Boto3CredentialProvider(session)
        if session.region_name and "AWS_REGION" not in os.environ:
            options["region"] = session.region_name
    return options


def _uses_profile() -> bool:
    """Return whether credentials are to come from a profile rather than from variables."""
    if "AWS_ACCESS_KEY_ID" in os.environ or "AWS_WEB_IDENTITY_TOKEN_FILE" in os.environ:
        return False
    files = (
        Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")),
        Path(os.environ.get("AWS_CONFIG_FILE", "~/.aws/config")),
    )
    return "AWS_PROFILE" in os.environ or any(file.expanduser().is_file() for file in files)
