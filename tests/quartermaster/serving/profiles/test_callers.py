"""Callers by their tokens, while the file changes."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from quartermaster.serving.profiles import CallerRefused, Callers
from quartermaster.serving.tokens import token_digest
from router import Router, SettingsInvalid
from tests.support.profiles import ALICE, BOB, FILE, SUPPORT, written

_NOW = datetime(2026, 6, 1, tzinfo=UTC)


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
