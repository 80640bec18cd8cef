"""Whose signatures count: keys as texts and in files, expired and revoked ones, and missing libraries."""

import base64
import json
import sys
from pathlib import Path

import pytest

from pipeline.store.private_keys import generate
from router.errors import SettingsInvalid
from router.signing.ed25519 import Signer
from router.signing.envelope import PAYLOAD_TYPE, Envelope, Statement
from router.signing.trusted_keys import TrustedKeys

STATEMENT = Statement("office", "first", "0" * 64, 1, "2026-11-23T00:00:00+00:00")


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    return generate(tmp_path / "build.pem")


@pytest.fixture
def signed(signer: Signer) -> bytes:
    return STATEMENT.envelope().signed_by(signer).to_json().encode()


def test_a_statement_comes_back_with_the_key_whose_signature_is_that_of_dsse(signer: Signer, signed: bytes) -> None:
    statement, key = TrustedKeys(signer.public.text).statement(signed)
    assert statement == STATEMENT and key.public == signer.public
    row = json.loads(signed)
    payload = base64.b64decode(row["payload"])
    message = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(payload)} ".encode() + payload
    assert signer.public.verifies(base64.b64decode(row["signatures"][0]["sig"]), message)
    assert Envelope.from_json(signed).signed_by(signer) == Envelope.from_json(signed), "signing again adds nothing"


def test_any_changed_byte_of_an_envelope_is_refused(signer: Signer, signed: bytes) -> None:
    keys = TrustedKeys(signer.public.text)
    for place in range(len(signed) - 1):  # the last is a line feed
        changed = signed[:place] + bytes((signed[place] ^ 1,)) + signed[place + 1 :]
        try:
            statement, _ = keys.statement(changed)
        except ValueError:
            continue
        assert statement == STATEMENT  # a space of the JSON became another, or the end of Base64 holds no bit


def test_what_is_no_envelope_and_what_signs_no_statement_is_refused(signer: Signer) -> None:
    unsigned = b'{"payload": "", "payloadType": "", "signatures": []}'
    other = Envelope(STATEMENT.envelope().payload, "text/plain").signed_by(signer).to_json().encode()
    for data in (b"", b"[" * 100_000, b"null", b"{}", b" " * 70_000, unsigned, other):
        with pytest.raises(ValueError, match=r"envelope|larger|no signature|it signs 'text/plain'"):
            TrustedKeys(signer.public.text).statement(data)


def test_one_trusted_key_of_several_is_enough(tmp_path: Path, signer: Signer) -> None:
    new = generate(tmp_path / "new.pem")
    both = STATEMENT.envelope().signed_by(signer).signed_by(new).to_json().encode()
    for trusted in (signer, new):
        assert TrustedKeys([trusted.public.text]).statement(both)[1].public == trusted.public
    with pytest.raises(ValueError, match="is not trusted; the key"):
        TrustedKeys(generate(tmp_path / "third.pem").public.text).statement(both)


def test_a_key_that_expired_or_was_revoked_counts_no_more(tmp_path: Path, signer: Signer, signed: bytes) -> None:
    file = tmp_path / "keys.toml"
    key = f'[[key]]\npublic = "{signer.public.text}"\n'
    file.write_text(key + "expires = 2999-01-01T00:00:00Z\n")
    keys = TrustedKeys(file)
    assert keys.statement(signed)[0] == STATEMENT
    for expiry in ("2001-01-01T00:00:00Z", "2001-01-01T00:00:00"):  # the file is read anew
        file.write_text(f"{key}expires = {expiry}\n")
        with pytest.raises(ValueError, match=r"expired at 2001-01-01T00:00:00\+00:00"):
            keys.statement(signed)
    for entry in (signer.public.key_id, signer.public.text):
        file.write_text(f'revoked = ["{entry}"]\n{key}')
        for trusted in (keys, TrustedKeys([signer.public.text, file])):  # it is revoked however else it is given
            with pytest.raises(ValueError, match="is revoked"):
                trusted.statement(signed)


def test_keys_and_files_of_keys_that_are_none_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in ([], "", " ", [None], 7 * "x", ["ed25519:AAAA"], ["ed25519:!"]):
        with pytest.raises(SettingsInvalid, match=r"trusted_keys is|public key|file of keys"):
            TrustedKeys(given)  # type: ignore[arg-type]
    file = tmp_path / "keys.toml"
    unknown = '[[key]]\npublick = "x"'
    for text in ("", "[[key]]\n", 'revoked = ["a"]\n', '[[key]]\npublic = "x"\n', "[[key", unknown, "key = 1"):
        file.write_text(text)
        with pytest.raises(SettingsInvalid, match=r"keys\.toml"):
            TrustedKeys(file)


def test_without_the_library_keys_are_refused_by_its_name(monkeypatch: pytest.MonkeyPatch, signer: Signer) -> None:
    text = signer.public.text
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(SettingsInvalid, match=r"package cryptography, which is not installed: pip install .*signing"):
        TrustedKeys(text)
