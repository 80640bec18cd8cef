"""A rate limit of several processes: what one counts holds in the others, in a table of fixed size."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quartermaster.serving.http.workers import busy_clients
from quartermaster.serving.http.workers.busy_clients import SharedBusyClients
from quartermaster.serving.rate_limit import RateLimit

_KEY = b"a secret of the server"
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("run") / "busy"
    SharedBusyClients.make(made)
    return made


def test_a_client_that_asks_two_workers_in_turn_passes_no_more_often_than_with_one(file: Path) -> None:
    workers = [RateLimit(60, SharedBusyClients(file, "client", _KEY)) for _ in range(2)]
    # One a second, six of them at once.
    assert [workers[turn % 2].wait("10.0.0.1", 100.0) for turn in range(8)] == [0] * 6 + [1, 1]
    assert workers[1].wait("10.0.0.1", 101.0) == 0
    assert workers[0].wait("10.0.0.1", 101.0) == 1
    assert workers[0].wait("10.0.0.2", 101.0) == 0


def test_a_token_is_no_client_of_the_same_name(file: Path) -> None:
    SharedBusyClients(file, "client", _KEY).set("alice", 7.0)
    assert SharedBusyClients(file, "token", _KEY).get("alice") is None


@given(rate=st.integers(1, 600), gaps=st.lists(st.floats(0, 90), max_size=40))
def test_the_limit_is_the_same_as_in_one_process(file: Path, rate: int, gaps: list[float]) -> None:
    client = f"{next(_NUMBERS)}"  # whom nobody has counted
    alone, shared = RateLimit(rate), RateLimit(rate, SharedBusyClients(file, "client", _KEY))
    now = 1_000.0
    for gap in gaps:
        now += gap
        assert shared.wait(client, now) == alone.wait(client, now)


def test_many_clients_take_no_more_room_and_the_busy_ones_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(busy_clients, "_SETS", 16)  # of eight places each
    file = tmp_path / "busy"
    SharedBusyClients.make(file)
    size, busy = file.stat().st_size, SharedBusyClients(file, "client", _KEY)
    busy.set("busiest", 1e9)
    for number in range(2_000):
        busy.set(f"{number}", float(number))
    assert (busy.get("busiest"), busy.get("1999"), file.stat().st_size) == (1e9, 1_999.0, size)


def test_the_table_has_its_blocks_of_the_disk_from_the_start(file: Path) -> None:
    assert file.stat().st_blocks * 512 >= file.stat().st_size  # a full disk would kill whoever writes to a mapped hole
