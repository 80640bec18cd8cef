"""The file of profiles and tokens: what is wrong in it is refused, with its place; callers, while it changes."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from quartermaster.serving.profiles import CallerRefused, Callers, ProfilesFile
from quartermaster.serving.tokens import new_token, token_digest
from router import Profile, Router, Selection, SettingsInvalid
from tests.support.profiles import ALICE, BOB, FILE, SUPPORT, written

_NOW = datetime(2026, 6, 1, tzinfo=UTC)
_DIGEST = token_digest(ALICE)
_PROFILE = "[profiles.p]\nselection = {}\n"
_TOKEN = _PROFILE + '[tokens.t]\nprofile = "p"\n'
_SHA = f'sha256 = "{_DIGEST}"\n'


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
    alice, bob = file.tokens["alice"], file.tokens["bob"]
    assert (alice.profile, alice.requests_per_minute) == ("support", 60)
    assert alice.expires == datetime(2027, 1, 1, tzinfo=UTC)
    assert (bob.expires, bob.changes) == (None, False)
    assert file.digests == {_DIGEST: "alice", token_digest("bobs-own-token-0123"): "bob"}
    assert file.audit is not None
    assert (file.audit.path, file.audit.text, file.audit.fsync) == (tmp_path / "log/audit.jsonl", True, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "profiles is missing, it must be a table"),
        ("[profiles]\n", "profiles is empty"),
        ("profiles = 3", "profiles must be a table"),
        ("[profiles.p]\n", "profiles.p: selection is missing"),
        ('[profiles.p]\nselection = { provider = ["x"] }', "profiles.p: there is no field selection.provider"),
        ("[profiles.p]\nselection = {}\nlimit = 0", "profiles.p: limit must be a whole number from 1 to"),
        ("[profiles.p]\nselection = {}\ncalls = true", "there is no field calls"),
        ('[profiles.p]\nselection = {}\nname = "q"', "there is no field name"),
        ('[profiles."a b"]\nselection = {}', "a name has 1 to 64 characters"),
        (_PROFILE + '[tokens.t]\nprofile = "q"\nenv = "X"', "there is no profile 'q': choose from p"),
        (_TOKEN, "write either sha256 or env"),
        (_TOKEN + 'env = "X"\n' + _SHA, "write either sha256 or env"),
        (_TOKEN + 'sha256 = "abc"', "tokens.t: sha256 must be a text that matches"),
        (_TOKEN + 'env = "UNSET_NAME"', "the environment has no UNSET_NAME"),
        (_TOKEN + 'env = "SHORT"', "SHORT has 5 characters, it must be 16 or more"),
        (_TOKEN + 'env = "X"\nexpires = 2027-01-01', "expires must be a time with its offset"),
        (_TOKEN + 'env = "X"\nexpires = 2027-01-01T00:00:00', "with its offset"),
        (
            _TOKEN.replace("{}", '{ block = ["x"] }') + 'env = "X"\nchanges = true',
            "leaves tools out: a change may reach",
        ),
        (
            _TOKEN + _SHA + _TOKEN.removeprefix(_PROFILE).replace(".t]", ".u]") + _SHA,
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


def test_a_token_is_known_by_its_digest_alone(router: Router, profiles_file: Path) -> None:
    callers = Callers(profiles_file, router)
    alice = callers.of_token(ALICE)
    assert alice is not None
    assert (alice.token, alice.sees_all, alice.may_call, alice.changes) == ("alice", False, False, False)
    assert {tool.tool_id for tool in alice.router.tools} == SUPPORT
    assert [callers.of_token(wrong) for wrong in ("", ALICE[:-1], ALICE + " ", ALICE.upper(), "ä" * 20)] == [None] * 5


def test_a_short_password_is_no_token_though_the_file_has_its_digest(router: Router, tmp_path: Path) -> None:
    text = FILE.replace(token_digest(ALICE), token_digest("secret"))
    callers = Callers(written(tmp_path / "p.toml", text), router)
    assert (callers.of_token("secret"), callers.of_token("")) == (None, None)
    assert callers.of_token(BOB)


def test_a_removed_token_is_refused_at_the_next_request(router: Router, profiles_file: Path) -> None:
    callers = Callers(profiles_file, router)
    assert callers.of_token(ALICE)
    written(profiles_file, FILE[: FILE.index("[tokens.alice]")])  # in place, at once, and so without the others
    assert (callers.of_token(ALICE), callers.of_token(BOB)) == (None, None)


def test_changes_of_the_same_size_within_a_clock_tick_are_seen(router: Router, profiles_file: Path) -> None:
    callers = Callers(profiles_file, router)
    for name in ("dev", "all", "dev"):
        written(profiles_file, FILE.replace('profile = "dev"', f'profile = "{name}"'))
        bob = callers.of_token(BOB)
        assert bob is not None
        assert bob.profile is not None
        assert bob.profile.name == name


def test_a_broken_new_file_leaves_the_old_one_in_force_and_is_told_of(
    router: Router, profiles_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    callers = Callers(profiles_file, router)
    profiles_file.write_text("[profiles.support\n", encoding="utf-8")
    assert callers.of_token(ALICE)
    assert "the new profiles are refused, those from before stay in force" in caplog.text
    profiles_file.unlink()
    assert callers.of_token(ALICE)
    written(profiles_file, FILE.replace("limit = 3", "limit = 2"))
    assert (caller := callers.of_token(ALICE)) is not None
    assert caller.profile is not None
    assert caller.profile.limit == 2


def test_an_expired_token_is_refused_with_a_sentence(router: Router, tmp_path: Path) -> None:
    text = FILE.replace("[tokens.bob]", "expires = 2026-06-01T00:00:00Z\n\n    [tokens.bob]")
    with pytest.raises(CallerRefused, match="the token 'alice' expired at 2026-06-01T00:00:00Z: ask the operator"):
        Callers(written(tmp_path / "p.toml", text), router, lambda: _NOW).of_token(ALICE)
    assert Callers(tmp_path / "p.toml", router, lambda: _NOW.replace(month=5)).of_token(ALICE)


def test_each_token_has_its_own_rate_which_a_new_file_does_not_reset(router: Router, tmp_path: Path) -> None:
    text = FILE.replace("[tokens.bob]", "requests_per_minute = 10\n\n    [tokens.bob]")
    callers = Callers(written(tmp_path / "p.toml", text), router)
    assert callers.of_token(ALICE)  # a tenth of the rate may come at once
    written(tmp_path / "p.toml", text + "\n# the same rate\n")
    with pytest.raises(CallerRefused, match="'alice' allows 10 requests a minute"):
        callers.of_token(ALICE)
    assert callers.of_token(BOB)
    assert callers.of_token(BOB)


def test_a_profile_by_name_must_be_there(router: Router, profiles_file: Path) -> None:
    callers = Callers(profiles_file, router)
    assert (callers.of_profile("dev").token, callers.of_profile("dev").changes) == (None, False)
    with pytest.raises(SettingsInvalid, match="there is no profile 'devs': choose from support, dev, all"):
        callers.of_profile("devs")


def test_a_file_whose_audit_log_cannot_be_written_is_refused(router: Router, tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="which cannot be written"):
        Callers(written(tmp_path / "p.toml", first='audit = "none/audit.jsonl"'), router)
