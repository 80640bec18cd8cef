"""Serving a catalog while it is published anew: whole answers, nothing left behind, nothing bad let in."""

import gc
import logging
import os
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from router import Router, SettingsInvalid, SnapshotInvalid
from router.contract import FORMAT_VERSION, MANIFEST
from router.snapshot.reloading import ReloadingSnapshot
from router.snapshot.snapshot import Snapshot
from router.store import open_store
from simulations.soak.threads import known_answers, routing_threads
from tests.support.fake_encoder import FakeEncoder
from tests.support.publishing import Publications, corrupt, sign
from tests.support.threads import Own

LOOK = 0.02
REQUEST = "give the customer their money back"


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> Publications:
    """A catalog of two snapshots, `first` and `second`; the first is published."""
    publications = Publications(tmp_path, snapshot)
    publications.add("first")
    publications.add("second", weights={"description": 1})
    publications.publish("first")
    return publications


@pytest.fixture
def counted() -> Iterator[None]:
    """Turn the cycle collector off: objects are then freed with their last reference."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def until(happens: Callable[[], object], seconds: float = 20) -> bool:
    """Wait until something happens; return False where it does not happen in time."""
    end = time.monotonic() + seconds
    while not happens() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(happens())


@pytest.fixture(autouse=True)
def own() -> Own:
    """Return the threads of a test, noted before its router is opened."""
    return Own()


def watchers(own: Own) -> list[str]:
    return own.names("quartermaster")


def test_a_reload_serves_what_was_published_and_answers_name_it(office: Publications) -> None:
    router = Router.open(office.folder)
    office.publish("second")
    assert router.route(REQUEST).snapshot == "first"
    assert router.reload() is True
    routed = router.route("refunds a charge", explain=True)
    assert (routed.snapshot, routed.recipe, router.manifest.snapshot) == ("second", "second", "second")
    assert set(routed[0].ranks) == {"description"}


def test_a_reload_of_what_serves_already_opens_nothing(office: Publications) -> None:
    router = Router.open(office.folder)
    before = router._live.snapshot
    office.publish("first")
    assert router.reload() is False
    assert router._live.snapshot is before


def test_a_router_over_a_snapshots_own_folder_stays_with_it(
    office: Publications, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = Router.open(office.folder / "first")
    office.publish("second")
    assert router.reload() is False
    monkeypatch.chdir(office.folder)
    assert Router(Snapshot.open(Path("first"))).reload() is False


def test_a_link_to_a_snapshot_is_followed_when_it_is_set_anew(office: Publications, tmp_path: Path) -> None:
    link = tmp_path / "serving"
    link.symlink_to(office.folder / "first")
    router = Router.open(link)
    link.unlink()
    link.symlink_to(office.folder / "second")
    assert router.reload() is True
    assert router.route(REQUEST).snapshot == "second"


def test_a_relative_path_is_that_of_the_folder_it_was_opened_in(
    office: Publications, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(office.folder.parent)
    router = Router.open(office.folder.name)
    monkeypatch.chdir(tmp_path)
    office.publish("second")
    assert router.reload() is True


BAD: dict[str, Callable[[Publications], object]] = {
    "corrupt": lambda office: corrupt(office.folder / "second"),
    "foreign": lambda office: sign(
        office.folder / "second", lambda manifest: manifest["versions"].update(format=FORMAT_VERSION + 1)
    ),
    "half published": lambda office: (office.folder / "second" / MANIFEST).unlink(),
    "cut short": lambda office: shutil.rmtree(office.folder / "second" / "name"),
    "of no snapshot": lambda office: office.point("third\n"),
    "leading elsewhere": lambda office: office.point("../elsewhere\n"),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_opened_is_refused_and_the_old_one_serves_on(office: Publications, bad: str) -> None:
    router = Router.open(office.folder)
    before = router.route(REQUEST)
    office.publish("second")
    BAD[bad](office)
    with pytest.raises(SnapshotInvalid):
        router.reload()
    assert router.route(REQUEST) == before
    office.add("mended")
    office.publish("mended")
    assert router.reload() is True


class Gated(FakeEncoder):
    """An encoder that blocks while it encodes a request, until `go` is set."""

    def __init__(self) -> None:
        self.entered, self.go = threading.Event(), threading.Event()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.entered.set()
        assert self.go.wait(20)
        return np.zeros((len(texts), 32), np.float32)


def mapped(folder: Path) -> int:
    """Return the number of memory mappings and open files of this process below a folder."""
    mappings = sum(f"{folder}/" in line for line in Path("/proc/self/maps").read_text().splitlines())
    return mappings + sum(
        f"{folder}/" in os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.exists()
    )


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.usefixtures("counted")
def test_a_request_under_way_is_answered_by_the_old_snapshot_which_goes_with_it(office: Publications) -> None:
    encoder = Gated()
    reloading = ReloadingSnapshot(
        replace(Snapshot.open(office.folder / "first"), encoder=encoder), open_store(office.folder)
    )
    router, old = Router(reloading), weakref.ref(reloading.snapshot)
    answers = []
    routing_threads = threading.Thread(target=lambda: answers.append(router.route(REQUEST, explain=True)))
    routing_threads.start()
    assert encoder.entered.wait(20)
    office.publish("second")
    sign(office.folder / "second", lambda manifest: manifest["encoder"].update(revision="another"))
    assert router.reload() is True
    assert router.route(REQUEST).snapshot == "second"
    assert old() is not None and mapped(office.folder / "first")
    encoder.go.set()
    routing_threads.join()
    assert answers[0].snapshot == answers[0].recipe == "first"
    assert old() is None
    assert until(lambda: not mapped(office.folder / "first"))
    assert mapped(office.folder / "second")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.usefixtures("counted")
def test_reloads_leave_neither_threads_nor_mappings_nor_files_behind(office: Publications) -> None:
    router = Router.open(office.folder)

    def held() -> tuple[int, int]:
        return len(list(Path("/proc/self/task").iterdir())), mapped(office.folder)

    before = held()
    for name in ("second", "first") * 2:
        office.publish(name)
        assert router.reload() is True
        router.route(REQUEST)
    # Tantivy's own threads notice that their index went when they next wake, within half a second.
    assert until(lambda: held() <= before), (before, held())


def test_a_new_snapshot_of_the_same_encoder_shares_it_and_its_cache(office: Publications) -> None:
    router = Router.open(office.folder, request_cache=7)
    router.route(REQUEST)
    encoder = router._live.snapshot.encoder
    office.publish("second")
    router.reload()
    router.route(REQUEST, recipe="published")
    assert router._live.snapshot.encoder is encoder
    assert (router.cache.hits, router.cache.misses) == (1, 1)


def test_a_new_snapshot_of_another_encoder_begins_with_an_empty_cache(office: Publications) -> None:
    router = Router.open(office.folder, request_cache=7)
    router.route(REQUEST)
    sign(office.folder / "second", lambda manifest: manifest["encoder"].update(query_prefix="query: "))
    office.publish("second")
    router.reload()
    assert (router.cache.size, router.cache.capacity) == (0, 7)


def test_watching_picks_up_what_is_published_and_close_ends_it(office: Publications, own: Own) -> None:
    def serves(name: str) -> bool:
        return router.route(REQUEST).snapshot == name

    with Router.open(office.folder, watch=LOOK) as router:
        assert len(watchers(own)) == 1
        for name in ("second", "first", "second"):
            office.publish(name)
            assert until(partial(serves, name))
    assert watchers(own) == []
    office.publish("first")
    time.sleep(3 * LOOK)
    assert router.route(REQUEST).snapshot == "second"
    assert router.reload() is True


def test_watching_warns_once_of_a_bad_snapshot_and_takes_the_next(
    office: Publications, caplog: pytest.LogCaptureFixture
) -> None:
    broken = corrupt(office.add("broken"))
    with caplog.at_level(logging.INFO, "router"), Router.open(office.folder, watch=LOOK) as router:
        office.publish("broken")
        assert until(lambda: caplog.records)
        time.sleep(5 * LOOK)
        assert router.route(REQUEST).snapshot == "first"
        office.publish("second")
        assert until(lambda: router.manifest.snapshot == "second")
        assert until(lambda: len(caplog.records) == 2)
    refused, served = caplog.records
    assert (refused.name, refused.levelname) == ("router", "WARNING")
    assert str(broken) in refused.message and "first goes on serving" in refused.message
    assert served.levelname == "INFO" and "second serves, after first" in served.message


def test_a_snapshot_that_was_mended_serves_when_it_is_published_again(office: Publications) -> None:
    broken = corrupt(office.folder / "second")
    with Router.open(office.folder, watch=LOOK) as router:
        office.publish("second")
        time.sleep(5 * LOOK)
        shutil.copyfile(office.folder / "first" / broken.relative_to(office.folder / "second"), broken)
        office.publish("second")
        assert until(lambda: router.manifest.snapshot == "second")


def test_without_watch_there_is_no_thread(office: Publications, own: Own) -> None:
    router = Router.open(office.folder)
    assert watchers(own) == []
    router.close()
    assert router.route(REQUEST).snapshot == "first"


@pytest.mark.usefixtures("counted")
def test_a_router_that_nobody_holds_goes_though_it_watches(office: Publications, own: Own) -> None:
    router = Router.open(office.folder, watch=60)
    gone = weakref.ref(router._live.snapshot)
    assert len(watchers(own)) == 1
    del router
    assert gone() is None
    assert until(lambda: not watchers(own))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_forked_child_watches_on(office: Publications) -> None:
    with Router.open(office.folder, watch=LOOK) as router:
        child = os.fork()
        if not child:
            office.publish("second")
            os._exit(0 if until(lambda: router.route(REQUEST).snapshot == "second") else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert until(lambda: router.manifest.snapshot == "second")


@pytest.mark.parametrize("watch", [0, -1, float("nan"), float("inf"), True])
def test_an_interval_out_of_its_range_is_refused_by_name(office: Publications, watch: float) -> None:
    with pytest.raises(SettingsInvalid, match=r"watch is .*above 0"):
        Router.open(office.folder, watch=watch)


def test_no_answer_is_wrong_while_snapshots_come_and_go(office: Publications, caplog: pytest.LogCaptureFixture) -> None:
    requests = [REQUEST, "which cards were declined", "open an issue, then tell the team in slack", "will it rain"]
    known = known_answers([office.folder / "first", office.folder / "second"], requests)
    assert not {first.ids for first in known["first"].values()} & {second.ids for second in known["second"].values()}
    corrupt(office.add("broken"))

    def noticed(name: str) -> bool:
        return name in (router.manifest.snapshot, *_refused(caplog))

    def answered_since(answered: int) -> bool:
        return soak.answers.total() > answered + 12

    with (
        Router.open(office.folder, watch=LOOK, request_cache=2) as router,
        routing_threads(router, known, threads=4) as soak,
    ):
        for name in ("second", "broken", "first", "second"):
            office.publish(name)
            assert until(partial(noticed, name))
            assert until(partial(answered_since, soak.answers.total()))
    assert (soak.errors, soak.wrong) == ([], [])
    assert set(soak.answers) == {"first", "second"}
    assert len(_refused(caplog)) == 1


def _refused(caplog: pytest.LogCaptureFixture) -> list[str]:
    return ["broken" for record in caplog.records if record.levelname == "WARNING"]
