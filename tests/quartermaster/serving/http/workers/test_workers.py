"""`serve http --workers 2` as it is run: two processes that answer, are killed, replaced and told to end."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.quartermaster.serving.http.workers.fleet import PATIENCE_S, Fleet, Load, fleet, is_alive, killed
from tests.support.command_line import started
from tests.support.publishing import Publications

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc")
PROGRAM = Path(__file__).with_name("two_workers.py")
REQUESTS = ("quartermaster_http_requests_total", "/v1/route", "200", "POST")


def test_two_workers_answer_count_together_are_replaced_when_killed_and_end_together(
    snapshot: Path, tmp_path: Path
) -> None:
    with fleet(tmp_path, snapshot, "60", program=PROGRAM) as served:
        served.wait_for_workers(2)
        for _ in range(6):
            served.route()
        served.until(lambda: served.metrics()[REQUESTS] == 6)  # an answer is counted once it is sent
        first, other = served.living
        assert killed(first)
        served.until(lambda: served.restarts("crashed") == 1)
        assert served.metrics()[REQUESTS] == 6
        assert f"worker {first} was killed by SIGKILL; another starts now" in served.log
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(PATIENCE_S) == 0
        assert not is_alive(other)
        assert list(served.temporary.iterdir()) == []
        assert "Traceback" not in served.log


@pytest.fixture(scope="module")
def office(snapshot: Path, tmp_path_factory: pytest.TempPathFactory) -> Publications:
    made = Publications(tmp_path_factory.mktemp("built"), snapshot)
    for name in ("a", "b"):
        made.add(name)
    made.publish("a")
    return made


@pytest.fixture(scope="module")
def selection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that each worker reads when it starts."""
    file = tmp_path_factory.mktemp("settings") / "selection.toml"
    file.write_text('block = ["linear/*"]\n')
    return file


@pytest.fixture(scope="module")
def served(office: Publications, selection: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One server for the tests below, which leave it with two workers."""
    options = ("--snapshot", office.folder, "--watch", "0.1", "--requests-per-minute", "0", "--selection", selection)
    with fleet(tmp_path_factory.mktemp("served"), *options) as running:
        running.wait_for_workers(2)
        yield running


@pytest.mark.nightly
def test_the_command_says_what_is_served_and_workers_it_lost_are_counted_on(served: Fleet) -> None:
    assert served.said == f"8 tools of a at {served.address} with 2 workers\n"
    for _ in range(6):
        served.route()
    served.until(lambda: served.metrics()[REQUESTS] == 6)
    for pid in served.living:
        assert killed(pid)
        assert served.metrics()[REQUESTS] == 6
    served.until(lambda: served.restarts("crashed") == 2)
    served.wait_for_workers(2)
    assert len(list(served.temporary.glob("*/metrics/*.db"))) == 4  # as many as before: counters and histograms


@pytest.mark.nightly
def test_no_request_is_lost_while_the_workers_are_replaced(served: Fleet) -> None:
    before = served.living
    with Load(served) as load:
        served.process.send_signal(signal.SIGHUP)
        served.until(lambda: not any(map(is_alive, before)))
    assert load.failures == []
    assert len(load.answers) > 0
    served.until(lambda: served.restarts("reloaded") == 2)
    served.wait_for_workers(2)


@pytest.mark.nightly
def test_workers_go_on_with_the_settings_from_before_where_new_ones_are_wrong(served: Fleet, selection: Path) -> None:
    before, right = served.living, selection.read_text()
    selection.write_text("block = 7\n")
    try:
        served.process.send_signal(signal.SIGHUP)
        served.until(lambda: "so the ones from before go on" in served.log)
        assert served.living == before
        # A worker that dies now finds no successor for a while. The other one answers.
        assert killed(before[0])
        served.until(lambda: "; another starts in " in served.log)
        assert served.route()["tools"]
    finally:
        selection.write_text(right)
    served.wait_for_workers(2)


@pytest.mark.nightly
def test_each_answer_comes_from_one_snapshot_and_all_workers_come_to_serve_the_new_one(
    served: Fleet, office: Publications
) -> None:
    with Load(served) as load:
        office.publish("b")
        served.until(lambda: served.metrics().get(("quartermaster_snapshot_workers", "b")) == 2)
        seen = len(load.answers)
        served.until(lambda: len(load.answers) > seen + 4)
    assert load.failures == []
    assert set(load.answers) <= {"a", "b"} and load.answers[-1] == "b"
    # A worker knows of the other what that told within the last second.
    served.until(lambda: ("quartermaster_snapshot_workers", "a") not in served.metrics())


@pytest.mark.nightly
def test_a_worker_that_hangs_is_replaced_and_all_end_where_their_supervisor_is_killed(
    office: Publications, tmp_path: Path
) -> None:
    with fleet(tmp_path, office.folder, "5", program=PROGRAM) as running:
        running.wait_for_workers(2)
        hung = running.living[0]
        os.kill(hung, signal.SIGSTOP)
        running.until(lambda: not is_alive(hung))
        assert re.search(rf"worker {hung} is silent for \d+ s and is killed", running.log)
        running.until(lambda: running.restarts("hung") >= 1)
        running.wait_for_workers(2)
        workers = running.living
        running.process.kill()
        running.until(lambda: not any(map(is_alive, workers)))
        running.until(lambda: list(running.temporary.iterdir()) == [])


@pytest.mark.nightly
def test_a_server_that_cannot_start_says_why_and_does_not_try_again(tmp_path: Path) -> None:
    done = started(tmp_path, "serve", "http", "--snapshot", tmp_path, "--port", "0", "--workers", "2")
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("quartermaster: ") and done.stderr.count("\n") == 1
