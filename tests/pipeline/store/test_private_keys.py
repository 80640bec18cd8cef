"""Private keys: made once, read back, never shown."""

import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pipeline.store.private_keys import PASSPHRASE_VARIABLE, generate, read_signer
from router.errors import SettingsInvalid
from router.signing.trusted_keys import TrustedKeys


@pytest.fixture(autouse=True)
def _no_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSPHRASE_VARIABLE, raising=False)


def test_a_key_is_read_back_and_its_file_is_its_users_alone(tmp_path: Path) -> None:
    made = generate(tmp_path / "build.pem")
    assert stat.S_IMODE((tmp_path / "build.pem").stat().st_mode) == 0o600
    read = read_signer("build.pem", tmp_path)
    assert read.public == made.public and made.public.verifies(read.sign(b"text"), b"text")
    assert not made.public.verifies(read.sign(b"text"), b"other")
    assert [key.public for key in TrustedKeys(tmp_path / "build.pem.pub").read()] == [made.public]


@pytest.mark.parametrize("taken", ["build.pem", "build.pem.pub"])
def test_a_file_is_never_overwritten(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(SettingsInvalid, match="never overwritten"):
        generate(tmp_path / "build.pem")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(taken, "mine")]


def test_an_encrypted_key_needs_its_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "correct horse")
    made = generate(tmp_path / "build.pem")
    assert "ENCRYPTED" in (tmp_path / "build.pem").read_text()
    assert read_signer("build.pem", tmp_path).public == made.public
    monkeypatch.setenv(PASSPHRASE_VARIABLE, "wrong")
    with pytest.raises(SettingsInvalid, match="passphrase in QUARTERMASTER_KEY_PASSPHRASE"):
        read_signer("build.pem", tmp_path)
    monkeypatch.delenv(PASSPHRASE_VARIABLE)
    with pytest.raises(SettingsInvalid, match="is encrypted: set its passphrase"):
        read_signer("build.pem", tmp_path)


def test_a_key_may_lie_in_a_variable_and_no_message_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = generate(tmp_path / "build.pem")
    pem = (tmp_path / "build.pem").read_text()
    secret = pem.splitlines()[1]
    monkeypatch.setenv("SIGNING", pem)
    assert read_signer("${SIGNING}").public == made.public
    monkeypatch.setenv("BROKEN", f"-----BEGIN PRIVATE KEY-----\n{secret[:-4]}\n-----END PRIVATE KEY-----\n")
    for source, told in (("${BROKEN}", "BROKEN"), (pem, "never as its text"), ("${NONE}", "variable NONE is not set")):
        with pytest.raises(SettingsInvalid, match=told) as refused:
            read_signer(source)
        assert secret[:20] not in str(refused.value)
    assert "sign=" not in repr(made)


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "ec.pem").write_bytes(pem)
    with pytest.raises(SettingsInvalid, match="is no Ed25519 key"):
        read_signer("ec.pem", tmp_path)
