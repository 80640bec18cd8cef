"""What the HTTP server is set to is checked before it listens."""

from pathlib import Path
from typing import Any

import pytest

from quartermaster.serving.http import HttpSettings, listen
from router import SettingsInvalid
from tests.quartermaster.serving.conftest import TOKEN


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("port", -1, "from 0 to 65,535"),
        ("max_request_bytes", 10, "from 1,024 to 67,108,864"),
        ("body_timeout_s", float("nan"), "from 0.1 to 3,600"),
        ("stale_after_s", 0, "from 1 to 31,536,000"),
        ("host", " ", "a text that matches"),
    ],
)
def test_a_value_out_of_range_is_refused_with_its_range(field: str, value: Any, allowed: str) -> None:
    with pytest.raises(SettingsInvalid, match=f"{field} is .* it must be .*{allowed}"):
        HttpSettings(**{field: value})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_to_listen_beyond_this_machine_takes_a_token_or_a_word(host: str) -> None:
    with pytest.raises(SettingsInvalid, match=r"QUARTERMASTER_TOKEN.*--insecure"):
        HttpSettings(host=host)
    assert HttpSettings(host=host, token=TOKEN).known_hosts == {"*"}
    # A page that has its own name lead here (DNS rebinding) needs no token where there is none.
    assert HttpSettings(host=host, insecure=True).known_hosts == {host, "localhost", "127.0.0.1", "::1"}
    assert HttpSettings(host=host, insecure=True, hosts=("*",)).known_hosts >= {"*"}


def test_this_machine_is_served_without_a_token() -> None:
    assert all(HttpSettings(host=host).loopback for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"))


@pytest.mark.parametrize(
    "token", ["", "short", "with a space in it 012345", "naïve-0123456789abc", "0123456789abcdef\n"]
)
def test_a_token_that_is_weak_or_cannot_be_sent_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(SettingsInvalid, match="16 or more of A-Z") as refused:
        HttpSettings(token=token)
    assert not token or token not in str(refused.value)


def test_settings_do_not_show_their_token_and_tokens_of_a_file_let_others_in() -> None:
    assert TOKEN not in repr(HttpSettings(token=TOKEN))
    assert HttpSettings(host="0.0.0.0", profiles=Path("p.toml")).known_hosts == {"*"}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"overlay": Path("late.json")}, r"overlay is 'late\.json' and there is no token"),
        ({"overlay": Path("nowhere/late.json"), "token": TOKEN}, r"nowhere/late\.json', its folder must be there"),
        ({"suggestions": Path("nowhere/s.jsonl")}, r"suggestions is 'nowhere/s\.jsonl', its folder must be there"),
        (
            {"overlay": Path("late.json"), "token": TOKEN, "workers": 2},
            r"in only one process, so serve with --workers 1",
        ),
        ({"workers": 3, "max_connections": 2}, "max_connections is 2: 3 workers share it, so it must be 3 or more"),
        ({"token": TOKEN, "profiles": Path("p.toml")}, "with profiles, every token stands in that file"),
    ],
)
def test_settings_that_exclude_each_other_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsInvalid, match=reason):
        HttpSettings(**settings)


def test_workers_share_the_connections() -> None:
    share = HttpSettings(workers=3, max_connections=100, max_connections_per_client=10).of_one_worker()
    assert (share.workers, share.max_connections, share.max_connections_per_client) == (1, 33, 3)


def test_an_address_that_cannot_be_is_an_error_with_a_way_out() -> None:
    with listen(HttpSettings(port=0)) as listening:
        taken = listening.getsockname()[1]
        with pytest.raises(SettingsInvalid, match=f"cannot listen at 127.0.0.1 port {taken}.*--port 0"):
            listen(HttpSettings(port=taken))
    with pytest.raises(SettingsInvalid, match=r"cannot listen at 192\.0\.2\.1"):
        listen(HttpSettings(host="192.0.2.1", token=TOKEN))
