"""The first page invites to try the catalog, and says what is in it."""

from dataclasses import replace
from pathlib import Path

from quartermaster.serving.page.catalog import facts, sample_requests
from router import Router
from router.snapshot.snapshot import Snapshot


def test_samples_are_phrases_of_tools_all_over_the_catalog_and_always_the_same(router: Router) -> None:
    samples, judged = sample_requests(router)
    assert sample_requests(router) == (samples, judged) and not judged
    owners = [tool.tool_id for tool in router.tools for phrase in samples if phrase in router.phrases(tool.tool_id)]
    assert len(samples) == 6 and len({owner.split("/")[0] for owner in owners}) >= 3


def test_judged_requests_are_the_samples_where_the_catalog_has_some(snapshot: Path) -> None:
    opened = Snapshot.open(snapshot)
    evaluation = {"examples": ["pay Ann back", "who is on call"], "metrics": {"recall@10": 0.9}, "requests": 2}
    router = Router(replace(opened, manifest=replace(opened.manifest, evaluation=evaluation)))
    assert sample_requests(router) == (["pay Ann back", "who is on call"], True)
    assert dict(facts(router.manifest, 8))["judged"] == "2 requests, 90 % find a tool among the first ten"


def test_the_facts_say_what_is_known(router: Router) -> None:
    known = dict(facts(router.manifest, len(router)))
    assert known["tools"] == "8" and known["written by"] == "file (8)"
    memory = Router.from_tools([print_nothing], encoder=None)
    assert dict(facts(memory.manifest, 1))["encoder"] == "none"


def print_nothing() -> None:
    """Prints nothing."""
