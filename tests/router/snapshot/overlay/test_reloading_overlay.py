"""Tools registered, changed and removed in a router that serves."""

import threading
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from router import Router
from router.errors import SettingsInvalid, SnapshotInvalid
from router.record import ToolRecord
from router.snapshot.overlay import Overlay
from router.snapshot.reloading import ReloadingSnapshot
from tests.router.snapshot.overlay.small_catalogs import built, record
from tests.support.factories import TOOLS
from tests.support.publishing import Publications, corrupt
from tests.support.waiting import until

WORDS = "alpha beta gamma delta".split()
EVERYTHING = "alpha beta gamma delta charge refund issue message channel forecast location list team repository"


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two builds of the office: the second lacks the forecast, has another refund, and has the alpha of "late"."""
    tools = [tool for tool in TOOLS if tool["provider"] != "weather"]
    changed = [{**tool, "description": "Voids it."} if "refund" in tool["name"] else tool for tool in tools]
    alpha = {**TOOLS[0], "id": "late/alpha", "provider": "late", "name": "alpha", "description": "Does alpha 1."}
    folder = tmp_path_factory.mktemp("offices")
    return built(folder / "first"), built(folder / "second", [*changed, {**alpha, "parameters": {}}])


@pytest.fixture
def office(tmp_path: Path, snapshots: tuple[Path, Path]) -> Publications:
    publications = Publications(tmp_path, snapshots[0])
    publications.add("first")
    Publications(tmp_path, snapshots[1]).add("second")
    publications.publish("first")
    return publications


def tool(name: str, version: int = 1, provider: str = "late") -> ToolRecord:
    return record(name, provider, description=f"Does {name} {version}.")


def served(reloading: ReloadingSnapshot) -> dict[str, ToolRecord]:
    """Return the served records by id, and check that a request that matches all tools finds exactly these.

    The alphas of two providers are duplicates, of which one stands for the other.
    """
    router = Router(reloading)
    records = {tool.tool_id: tool for tool in router.tools}
    routed = router.route(EVERYTHING, k=100)
    found = [*routed.ids, *(twin for one in routed for twin in one.also_from)]
    assert len(found) == len(set(found)) and set(found) <= records.keys()
    assert {tool_id for tool_id in records if tool_id.startswith("late/")} <= set(found)
    return records


class Model(RuleBasedStateMachine):
    """Random changes and publications, against a dict."""

    folder: Path
    catalogs: dict[str, dict[str, ToolRecord]]

    @initialize()
    def open(self) -> None:
        (self.folder / "CURRENT").write_text("first\n")
        self.reloading = ReloadingSnapshot.open(self.folder)
        self.overlaid: dict[str, ToolRecord] = {}
        self.gone: set[str] = set()
        self.lists: dict[str, set[str]] = {}
        self.catalog = self.catalogs["first"]

    @rule(names=st.sets(st.sampled_from(WORDS), min_size=1), version=st.integers(1, 2))
    def register(self, names: set[str], version: int) -> None:
        records = [tool(name, version) for name in sorted(names)]
        self.reloading.change(lambda overlay: overlay.registered(records, "late"))
        self._registered(records)

    @rule(ids=st.sets(st.sampled_from([*(t["id"] for t in TOOLS), *(f"late/{name}" for name in WORDS)]), min_size=1))
    def remove(self, ids: set[str]) -> None:
        self.reloading.change(lambda overlay: overlay.removed(ids))
        self.gone |= ids
        self.overlaid = {tool_id: record for tool_id, record in self.overlaid.items() if tool_id not in ids}

    @rule(names=st.sets(st.sampled_from(WORDS)), version=st.integers(1, 2), source=st.sampled_from(["late", "linear"]))
    def replace(self, names: set[str], version: int, source: str) -> None:
        records = [tool(name, version, source) for name in sorted(names)]
        self.reloading.change(lambda overlay: overlay.replaced(source, records))
        self.overlaid = {i: record for i, record in self.overlaid.items() if record.provider != source}
        self.lists[source] = set()
        self._registered(records)

    @rule(name=st.sampled_from(["first", "second"]))
    def publish(self, name: str) -> None:
        (self.folder / "CURRENT").write_text(f"{name}\n")
        self.reloading.reload()
        self.catalog = self.catalogs[name]
        # What the snapshot has unchanged is the snapshot's from then on.
        self._settle()

    def _registered(self, records: list[ToolRecord]) -> None:
        for one in records:
            self.overlaid[one.tool_id] = one
            self.gone.discard(one.tool_id)
            if one.provider in self.lists:
                self.lists[one.provider].add(one.tool_id)
        self._settle()

    def _settle(self) -> None:
        def content(record: ToolRecord | None) -> object:
            return record and record.content()

        self.overlaid = {i: r for i, r in self.overlaid.items() if content(r) != content(self.catalog.get(i))}

    def teardown(self) -> None:
        if hasattr(self, "reloading"):
            self.check()

    @rule()
    def check(self) -> None:
        expected = {
            tool_id: record.content()
            for tool_id, record in self.catalog.items()
            if tool_id not in self.gone and tool_id in self.lists.get(record.provider or "", {tool_id})
        } | {tool_id: record.content() for tool_id, record in self.overlaid.items()}
        assert {tool_id: record.content() for tool_id, record in served(self.reloading).items()} == expected
        assert self.reloading.overlay.tools.keys() == self.overlaid.keys()


def test_whatever_changes_each_id_serves_as_it_was_said_last(
    office: Publications, snapshots: tuple[Path, Path]
) -> None:
    Model.folder = office.folder
    Model.catalogs = {
        name: {tool.tool_id: tool for tool in Router.open(folder).tools}
        for name, folder in zip(("first", "second"), snapshots, strict=True)
    }
    run_state_machine_as_test(
        Model,
        settings=settings(max_examples=max(12, settings().max_examples // 20), stateful_step_count=12),
    )


def test_a_change_or_a_publication_that_fails_changes_nothing(office: Publications) -> None:
    reloading = ReloadingSnapshot.open(office.folder)
    reloading.change(lambda overlay: overlay.registered([tool("alpha")]))
    before = reloading.snapshot
    with pytest.raises(SettingsInvalid):
        reloading.change(lambda overlay: overlay.registered([tool("beta"), tool("beta")]))
    corrupt(office.folder / "second")
    office.publish("second")
    with pytest.raises(SnapshotInvalid):
        reloading.reload()
    assert reloading.snapshot is before


def test_a_saved_overlay_serves_again_after_a_restart(office: Publications, tmp_path: Path) -> None:
    reloading = ReloadingSnapshot.open(office.folder)
    reloading.change(
        lambda overlay: overlay.replaced("linear", [tool("alpha", 2, "linear")]).removed(["weather/getForecast"])
    )
    reloading.save(tmp_path / "overlay.json")
    again = ReloadingSnapshot.open(office.folder, overlay=tmp_path / "overlay.json")
    assert served(again) == served(reloading)
    assert again.overlay.revision == reloading.overlay.revision != ""
    (tmp_path / "overlay.json").write_text("{")
    with pytest.raises(SnapshotInvalid, match=r"overlay\.json cannot be read"):
        ReloadingSnapshot.open(office.folder, overlay=tmp_path / "overlay.json")


def test_each_answer_is_wholly_before_or_wholly_after_a_change(office: Publications) -> None:
    """Four threads ask while two tools come and go together, in one of two versions, and snapshots are published."""
    reloading = ReloadingSnapshot.open(office.folder)
    router = Router(reloading)
    pairs = [[tool("alpha", version), tool("beta", version)] for version in (1, 2)]
    allowed = {()} | {tuple(sorted(record.description for record in pair)) for pair in pairs}
    wrong: list[object] = []
    asked = [0] * 4
    ended = threading.Event()

    def ask(which: int) -> None:
        try:
            while not ended.is_set():
                routed = router.route("alpha beta", k=20, recipe="lexical")
                late = tuple(sorted(t.record.description for t in routed if t.record.provider == "late"))
                if late not in allowed or len(set(routed.ids)) != len(routed.ids):
                    wrong.append(routed.ids)
                asked[which] += 1
        except Exception as error:  # noqa: BLE001 - the test says which
            wrong.append(error)

    threads = [threading.Thread(target=ask, args=(which,)) for which in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(10):
        pair = pairs[turn % 2]
        reloading.change(partial(Overlay.registered, records=pair))
        if turn % 3 == 2:
            reloading.change(partial(Overlay.removed, tool_ids=[record.tool_id for record in pair]))
        if turn % 5 == 4:
            office.add(f"later{turn}")  # of the first: it has neither
            office.publish(f"later{turn}")
            reloading.reload()
    assert until(lambda: min(asked) > 0 or wrong)
    ended.set()
    for thread in threads:
        thread.join()
    assert wrong == []
