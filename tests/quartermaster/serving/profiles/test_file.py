"""The file of profiles and tokens: what is wrong in it is refused, with its place."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from quartermaster.serving.profiles import ProfilesFile
from quartermaster.serving.tokens import new_token, token_digest
from router import Profile, Selection, SettingsInvalid
from tests.support.profiles import ALICE, written

_DIGEST = token_digest(ALICE)
_PROFILE = "[profiles.p]\nselection = {}\n"


def test_a_file_has_profiles_tokens_and_the_audit_log(tmp_path: Path) -> None:
    text = f"""
    [profiles.support]
    selection = {{ providers = ["stripe"], weights = {{ embed = 1 }} }}
    call = false
    limit = 5
    budget = 900

    [tokens.alice]
    profile = "support"
    sha256 = "{_DIGEST}"
    requests_per_minute = 60
    expires = 2027-01-01T00:00:00Z

    [tokens.bob]
    profile = "support"
    env = "BOB"
    """
    first = 'audit = "log/audit.jsonl"\naudit_text = true\naudit_fsync = true'
    file = ProfilesFile.load(written(tmp_path / "p.toml", text, first), {"BOB": "bobs-own-token-0123"})
    support = Profile("support", Selection.from_json({"providers": ["stripe"], "weights": {"embed": 1}}), False, 5, 900)
    assert file.profiles == {"support": support}
    alice, bob = file.tokens
    assert (alice.profile, alice.requests_per_minute) == (support, 60)
    assert alice.expires == datetime(2027, 1, 1, tzinfo=UTC)
    assert (bob.sha256, bob.expires, bob.changes) == (token_digest("bobs-own-token-0123"), None, False)
    assert (file.audit, file.audit_text, file.audit_fsync) == (tmp_path / "log/audit.jsonl", True, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "profiles is missing, it must be a table"),
        ("[profiles]\n", "profiles is empty"),
        ("profiles = 3", "profiles must be a table"),
        ("[profiles.p]\n", "profiles.p: selection is missing"),
        (
            '[profiles.p]\nselection = { provider = ["x"] }',
            "profiles.p: there is no field selection.provider",
        ),
        ("[profiles.p]\nselection = {}\nlimit = 0", "profiles.p: limit must be a whole number from 1 to"),
        ("[profiles.p]\nselection = {}\ncalls = true", "there is no field calls"),
        ('[profiles.p]\nselection = {}\nname = "q"', "there is no field name"),
        ('[profiles."a b"]\nselection = {}', "a name has 1 to 64 characters"),
        (_PROFILE + '[tokens.t]\nprofile = "q"\nenv = "X"', "there is no profile 'q': choose from p"),
        (_PROFILE + '[tokens.t]\nprofile = "p"', "write either sha256 or env"),
        (_PROFILE + f'[tokens.t]\nprofile = "p"\nenv = "X"\nsha256 = "{_DIGEST}"', "write either sha256 or env"),
        (_PROFILE + '[tokens.t]\nprofile = "p"\nsha256 = "abc"', "tokens.t: sha256 must be a text that matches"),
        (_PROFILE + '[tokens.t]\nprofile = "p"\nenv = "UNSET_NAME"', "the environment has no UNSET_NAME"),
        (_PROFILE + '[tokens.t]\nprofile = "p"\nenv = "SHORT"', "SHORT has 5 characters, it must be 16 or more"),
        (
            _PROFILE + '[tokens.t]\nprofile = "p"\nenv = "X"\nexpires = 2027-01-01',
            "expires must be a time with its offset",
        ),
        (
            _PROFILE + '[tokens.t]\nprofile = "p"\nenv = "X"\nexpires = 2027-01-01T00:00:00',
            "with its offset",
        ),
        (
            '[profiles.p]\nselection = { block = ["x"] }\n[tokens.t]\nprofile = "p"\nenv = "X"\nchanges = true',
            "leaves tools out: a change may reach any tool",
        ),
        (
            _PROFILE + "".join(f'[tokens.{name}]\nprofile = "p"\nsha256 = "{_DIGEST}"\n' for name in "tu"),
            "tokens.u is the same token as tokens.t",
        ),
        ("[profiles.p\n", "cannot be read"),
        ("x = " + "[" * 10_000, "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsInvalid) as refused:
        ProfilesFile.load(path, {"X": "0123456789abcdef", "SHORT": "abcde"})
    assert said in str(refused.value)
    assert str(path) in str(refused.value)
    assert "abcde" not in str(refused.value)


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        ProfilesFile.load(tmp_path / "none.toml")
    large = tmp_path / "large.toml"
    large.write_text("#" * 5_000_000, encoding="utf-8")
    with pytest.raises(SettingsInvalid, match="4,194,304 bytes"):
        ProfilesFile.load(large)


def test_new_tokens_differ_and_have_256_bits() -> None:
    tokens = {new_token() for _ in range(100)}
    assert (len(tokens), {len(token) for token in tokens}) == (100, {43})
