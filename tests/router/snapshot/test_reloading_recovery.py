"""A publication that fails for a moment, or comes by a link, is picked up all the same."""

import asyncio
import logging
import shutil
from pathlib import Path

import pytest

from router import RequestInvalid, Router, SettingsInvalid
from tests.support.publishing import Publications, corrupt, look


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> Publications:
    made = Publications(tmp_path, snapshot)
    for name in ("first", "second"):
        made.add(name)
    made.publish("first")
    return made


def test_a_snapshot_that_was_mended_is_taken_without_a_new_publication(
    office: Publications, caplog: pytest.LogCaptureFixture
) -> None:
    router = Router.open(office.folder)
    broken = corrupt(office.folder / "second")
    office.publish("second")
    with caplog.at_level(logging.WARNING, "router"):
        for _ in range(4):
            look(router)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert router.manifest.snapshot == "first"
    whole = office.folder / "first" / broken.relative_to(office.folder / "second")
    broken.unlink()
    shutil.copyfile(whole, broken)
    for _ in range(70):
        look(router)
    assert router.manifest.snapshot == "second"


def test_a_link_to_a_snapshot_that_is_set_anew_is_followed(office: Publications, tmp_path: Path) -> None:
    link = tmp_path / "serving"
    link.symlink_to(office.folder / "first")
    router = Router.open(link)
    link.unlink()
    link.symlink_to(office.folder / "second")
    look(router)
    assert router.manifest.snapshot == "second"


@pytest.mark.parametrize("watch", ["5", True, 0, -1, float("nan"), float("inf"), 1e10])
def test_watch_out_of_its_range_is_refused_with_the_range(office: Publications, watch: object) -> None:
    with pytest.raises(SettingsInvalid, match="above 0, up to 86,400"):
        Router.open(office.folder, watch=watch)  # type: ignore[arg-type]


def test_a_request_that_waits_when_the_router_closes_is_told_so(office: Publications) -> None:
    async def ask() -> list[object]:
        router = Router.open(office.folder)
        waiting = [asyncio.ensure_future(router.route_async("undo a payment")) for _ in range(40)]
        await asyncio.sleep(0)
        await router.aclose()
        return list(await asyncio.gather(*waiting, return_exceptions=True))

    answers = asyncio.run(ask())
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert refused
    assert all(isinstance(answer, RequestInvalid) and "closed" in str(answer) for answer in refused)


def test_what_is_no_text_is_named_by_its_place(office: Publications) -> None:
    with pytest.raises(RequestInvalid, match=r"requests\[1\] is None"):
        Router.open(office.folder).route_many(["undo", None])  # type: ignore[list-item]
