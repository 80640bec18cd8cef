"""Serving a catalog while it is published anew: whole answers, nothing left behind, nothing bad let in."""

import asyncio
import gc
import logging
import os
import shutil
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from router import RequestInvalid, Router, SettingsInvalid, SnapshotInvalid
from router.contract import FORMAT_VERSION, MANIFEST
from router.snapshot.reloading import ReloadingSnapshot
from router.snapshot.snapshot import Snapshot
from router.store import open_store
from simulations.soak.threads import known_answers, routing_threads
from tests.support.fake_encoder import FakeEncoder
from tests.support.publishing import Publications, corrupt, live, look, sign
from tests.support.threads import Own
from tests.support.waiting import until

LOOK = 0.02
REQUEST = "give the customer their money back"


def _published(tmp_path: Path, snapshot: Path, weights: dict[str, float] | None) -> Publications:
    publications = Publications(tmp_path, snapshot)
    publications.add("first")
    publications.add("second", weights=weights)
    publications.add("third")
    publications.publish("first")
    return publications


@pytest.fixture
def office(tmp_path: Path, thin: Path) -> Publications:
    """A catalog of three snapshots that open quickly; the first is published."""
    return _published(tmp_path, thin, None)


@pytest.fixture
def whole(tmp_path: Path, snapshot: Path) -> Publications:
    """A catalog of three snapshots with vectors, of which the second ranks by descriptions alone."""
    return _published(tmp_path, snapshot, {"description": 1})


@pytest.fixture
def counted() -> Iterator[None]:
    """Turn the cycle collector off: objects are then freed with their last reference."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def own() -> Own:
    """Return the threads of a test, noted before its router is opened."""
    return Own()


def watchers(own: Own) -> list[str]:
    return own.names("quartermaster")


def mend(office: Publications, broken: Path) -> None:
    """Put a damaged file of the second snapshot right."""
    broken.unlink()
    shutil.copyfile(office.folder / "first" / broken.relative_to(office.folder / "second"), broken)


def test_a_reload_serves_what_was_published_and_answers_name_it(whole: Publications) -> None:
    router = Router.open(whole.folder)
    before = router._live.snapshot
    whole.publish("first")
    assert router.reload() is False and router._live.snapshot is before, "what serves already is not opened"
    whole.publish("second")
    assert router.route(REQUEST).snapshot == "first"
    assert router.reload() is True
    routed = router.route("refunds a charge", explain=True)
    assert (routed.snapshot, routed.recipe, router.manifest.snapshot) == ("second", "second", "second")
    assert set(routed[0].ranks) == {"description"}


def test_a_router_stays_with_a_snapshots_own_folder_and_follows_a_link_and_a_relative_path(
    office: Publications, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "serving"
    link.symlink_to(office.folder / "first")
    monkeypatch.chdir(office.folder.parent)
    linked, own, relative = Router.open(link), Router.open(office.folder / "first"), Router.open(office.folder.name)
    monkeypatch.chdir(tmp_path)
    office.publish("second")
    link.unlink()
    link.symlink_to(office.folder / "second")
    assert (linked.reload(), own.reload(), relative.reload()) == (True, False, True)
    assert linked.route(REQUEST).snapshot == "second"
    link.unlink()
    link.symlink_to(office.folder / "third")
    look(linked)
    assert linked.manifest.snapshot == "third"
    monkeypatch.chdir(office.folder)
    assert Router(Snapshot.open(Path("first"))).reload() is False


BAD: dict[str, Callable[[Publications], object]] = {
    "corrupt": lambda office: corrupt(office.folder / "second"),
    "foreign": lambda office: sign(
        office.folder / "second", lambda manifest: manifest["versions"].update(format=FORMAT_VERSION + 1)
    ),
    "half published": lambda office: (office.folder / "second" / MANIFEST).unlink(),
    "cut short": lambda office: shutil.rmtree(office.folder / "second" / "name"),
    "of no snapshot": lambda office: office.point("fourth\n"),
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
    office.publish("third")
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
def test_a_request_under_way_is_answered_by_the_old_snapshot_which_goes_with_it(whole: Publications) -> None:
    encoder, answers = Gated(), []
    gated = replace(Snapshot.open(whole.folder / "first"), encoder=encoder)
    reloading = ReloadingSnapshot(gated, open_store(whole.folder))
    router, old = Router(reloading), weakref.ref(reloading.snapshot)
    del gated
    asking = threading.Thread(target=lambda: answers.append(router.route(REQUEST, explain=True)))
    asking.start()
    assert encoder.entered.wait(20)
    whole.publish("second")
    sign(whole.folder / "second", lambda manifest: manifest["encoder"].update(revision="another"))
    assert router.reload() is True
    assert router.route(REQUEST).snapshot == "second"
    assert old() is not None and mapped(whole.folder / "first")
    encoder.go.set()
    asking.join()
    assert answers[0].snapshot == answers[0].recipe == "first"
    assert old() is None
    assert until(lambda: not mapped(whole.folder / "first"))
    assert mapped(whole.folder / "second")


def test_a_new_snapshot_shares_the_encoder_and_its_cache_where_that_is_the_same(whole: Publications) -> None:
    router = Router.open(whole.folder, request_cache=7)
    router.route(REQUEST)
    encoder = router._live.snapshot.encoder
    whole.publish("second")
    router.reload()
    router.route(REQUEST, recipe="published")
    assert router._live.snapshot.encoder is encoder
    assert (router.cache.hits, router.cache.misses) == (1, 1)
    sign(whole.folder / "third", lambda manifest: manifest["encoder"].update(query_prefix="query: "))
    whole.publish("third")
    router.reload()
    assert (router.cache.size, router.cache.capacity) == (0, 7)


def test_watching_picks_up_what_is_published_and_close_ends_it(office: Publications, own: Own) -> None:
    with Router.open(office.folder, watch=LOOK) as router:
        assert len(watchers(own)) == 1
        for name in ("second", "first", "second"):
            office.publish(name)
            assert until(lambda name=name: router.route(REQUEST).snapshot == name)  # type: ignore[misc]
    assert watchers(own) == []
    office.publish("first")
    assert router.manifest.snapshot == "second"
    assert router.reload() is True


def test_a_bad_snapshot_is_warned_of_once(office: Publications, caplog: pytest.LogCaptureFixture) -> None:
    router = Router.open(office.folder)
    broken = corrupt(office.folder / "second")
    with caplog.at_level(logging.INFO, "router"):
        office.publish("second")
        for _ in range(5):
            look(router)
        office.publish("third")
        look(router)
    refused, served = caplog.records
    assert (refused.name, refused.levelname, served.levelname) == ("router", "WARNING", "INFO")
    assert str(broken) in refused.message and "first goes on serving" in refused.message
    assert "third serves, after first" in served.message


@pytest.mark.parametrize(("looks", "later"), [(4, 65), (400, 65), (100, 0)])
def test_what_was_mended_is_taken_after_64_looks_or_at_once(office: Publications, looks: int, later: int) -> None:
    router = Router.open(office.folder)
    broken = corrupt(office.folder / "second")
    office.publish("second")
    for _ in range(looks):
        look(router)
    mend(office, broken)
    for _ in range(later):
        look(router)
    if not later:
        office.publish("second")
        look(router)
    assert router.manifest.snapshot == "second"


def test_a_request_that_waits_when_the_router_closes_is_told_so(whole: Publications) -> None:
    async def ask() -> list[object]:
        router = Router.open(whole.folder)
        waiting = [asyncio.ensure_future(router.route_async("undo a payment")) for _ in range(40)]
        await asyncio.sleep(0)
        await router.aclose()
        return list(await asyncio.gather(*waiting, return_exceptions=True))

    refused = [answer for answer in asyncio.run(ask()) if isinstance(answer, BaseException)]
    assert refused
    assert all(isinstance(answer, RequestInvalid) and "closed" in str(answer) for answer in refused)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_forked_child_watches_on(office: Publications) -> None:
    with Router.open(office.folder, watch=LOOK) as router:
        child = os.fork()
        if not child:
            office.publish("second")
            os._exit(0 if until(lambda: router.route(REQUEST).snapshot == "second") else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert until(lambda: router.manifest.snapshot == "second")


@pytest.mark.parametrize("watch", ["5", True, 0, -1, float("nan"), float("inf"), 1e10])
def test_watch_out_of_its_range_is_refused_with_the_range(office: Publications, watch: object) -> None:
    with pytest.raises(SettingsInvalid, match=r"watch is .* above 0, up to 86,400"):
        Router.open(office.folder, watch=watch)  # type: ignore[arg-type]


def test_no_answer_is_wrong_while_snapshots_come_and_go(whole: Publications, caplog: pytest.LogCaptureFixture) -> None:
    requests = [REQUEST, "which cards were declined", "open an issue, then tell the team in slack", "will it rain"]
    known = known_answers([whole.folder / "first", whole.folder / "second"], requests)
    assert not {first.ids for first in known["first"].values()} & {second.ids for second in known["second"].values()}
    corrupt(whole.folder / "third")

    def refused() -> int:
        return sum(record.levelname == "WARNING" for record in caplog.records)

    with (
        Router.open(whole.folder, watch=LOOK, request_cache=2) as router,
        routing_threads(router, known, threads=4) as soak,
    ):
        for name in ("second", "third", "first", "second"):
            whole.publish(name)
            assert until(lambda name=name: refused() if name == "third" else router.manifest.snapshot == name)  # type: ignore[misc]
            enough = soak.answers.total() + 8
            assert until(lambda enough=enough: soak.answers.total() > enough)  # type: ignore[misc]
    assert (soak.errors, soak.wrong) == ([], [])
    assert set(soak.answers) == {"first", "second"} and refused() == 1


class PanicException(BaseException):
    """Is named as what Rust raises."""

    __module__ = "pyo3_runtime"


ERRORS = (MemoryError(), RecursionError("deep"), OSError("gone"), SystemExit(1), PanicException("of Tantivy"))


@pytest.mark.parametrize("of_the_store", [False, True])
@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_no_error_ends_the_watching(
    office: Publications,
    error: BaseException,
    of_the_store: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(*_: object, **__: object) -> Snapshot:
        raise error

    with Router.open(office.folder, watch=LOOK) as router, monkeypatch.context() as patched:
        if of_the_store:
            patched.setattr(live(router)._store, "publication", fails)
        else:
            patched.setattr(Snapshot, "open", fails)
        office.publish("second")
        assert until(lambda: caplog.records)
        patched.undo()
        office.publish("third")
        assert until(lambda: router.manifest.snapshot == "third")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.usefixtures("counted")
def test_reloads_leave_neither_threads_nor_mappings_nor_files_behind(whole: Publications) -> None:
    router = Router.open(whole.folder)

    def held() -> tuple[int, int]:
        return len(list(Path("/proc/self/task").iterdir())), mapped(whole.folder)

    before = held()
    for name in ("second", "first") * 2:
        whole.publish(name)
        assert router.reload() is True
        router.route(REQUEST)
    # Tantivy's own threads notice that their index went when they next wake, within half a second.
    assert until(lambda: held() <= before), (before, held())
