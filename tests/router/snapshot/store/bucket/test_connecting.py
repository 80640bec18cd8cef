"""Where credentials come from, and that they go nowhere."""

import sys
from pathlib import Path

import pytest

from router.errors import SettingsInvalid
from router.snapshot.store.bucket import connecting
from router.snapshot.store.bucket.objects import Objects, ObjectUnavailable
from router.snapshot.store.bucket.url import checked_url

_SECRET = "very-secret-word"


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user without credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_CHECKSUM_ALGORITHM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


def test_variables_come_before_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("boto3")
    (tmp_path / "credentials").write_text(
        f"[default]\naws_access_key_id = one\naws_secret_access_key = {_SECRET}\n[night]\naws_access_key_id = two\n"
        f"aws_secret_access_key = {_SECRET}\nregion = eu-north-1\n"
    )
    assert connecting._aws_options()["credential_provider"] is not None
    monkeypatch.setenv("AWS_PROFILE", "night")
    assert connecting._aws_options()["region"] == "eu-north-1"
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "three")
    assert connecting._aws_options() == {"checksum_algorithm": "SHA256"}


def test_a_profile_without_boto3_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    assert "credential_provider" not in connecting._aws_options()
    monkeypatch.setenv("AWS_PROFILE", "night")
    with pytest.raises(SettingsInvalid, match="AWS_PROFILE needs boto3"):
        Objects("s3://bucket/catalogs/office")


def test_a_checksum_that_the_environment_chooses_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CHECKSUM_ALGORITHM", "CRC64NVME")
    assert connecting._aws_options() == {}


def test_no_error_repeats_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", _SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(ObjectUnavailable) as failure:
        Objects("s3://bucket/catalogs/office", patience_s=0.1).read("CURRENT", 10)
    cause: BaseException | None = failure.value
    while cause is not None:
        assert _SECRET not in str(cause)
        cause = cause.__cause__


@pytest.mark.parametrize(
    "url",
    [
        f"s3://someone:{_SECRET}@bucket/office",
        f"s3://bucket/office?key={_SECRET}",
        f"s3://bucket/office#{_SECRET}",
    ],
)
def test_an_address_with_a_secret_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(SettingsInvalid, match="must hold no credentials") as failure:
        checked_url(url)
    assert _SECRET not in str(failure.value)


@pytest.mark.parametrize(
    "url", ["s3://bucket", "s3:///office", "s3://bucket//office", "s3://bucket/../office", "file://"]
)
def test_an_address_that_names_no_catalog_is_refused(url: str) -> None:
    with pytest.raises(SettingsInvalid, match="names no catalog"):
        checked_url(url)
