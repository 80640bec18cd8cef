"""A night on which the model answers badly is told by name, and held where too many tools have no phrases."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipeline.build.misplaced import take_back_misplaced
from pipeline.build_state import BuildState
from pipeline.enrichment import EnrichmentContext, enrich
from pipeline.enrichment.context import Consequence, Enrichment, TextVerdict
from pipeline.enrichment.openai import DirectGenerator
from pipeline.ledger import Ledger
from pipeline.phrase_checks.subject import Findings
from pipeline.progress import SilentProgress
from pipeline.records import Catalog, catalog_records
from tests.pipeline.build.test_downgrades import Office
from tests.pipeline.enrichment.catalog_run import catalog
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion, row, tool_of
from tests.support.factories import make_raw


def _apologises(body: Mapping[str, Any], _: int) -> Reply:
    apology = "I'm sorry, but I can't assist with that."
    return Reply(completion(json.dumps({**row(tool_of(body)["name"]), "user_phrases": [apology]})))


def test_a_first_night_of_apologies_is_held_and_the_next_one_serves(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.write(added=20)
    with ModelServer(_apologises) as server:
        bad = office.night(server)
        assert (bad.outcome, bad.generators, len(server.requests)) == ("held", {}, 32)
    assert bad.held[0].startswith("enrichment failed for 100.0% of the tools")
    assert "the checks refused the model's answers about 32 tools (repeated): p/tool_00" in bad.degraded[0]
    with ModelServer() as server:
        good = office.night(server, concurrency=50)
        assert (good.outcome, good.degraded, len(server.requests)) == ("published", (), 50)


@pytest.mark.parametrize(
    ("answered_before", "consequence", "taken"),
    [
        pytest.param(40, Consequence.DROPPED, 10, id="few, of tools that have an earlier answer"),
        pytest.param(30, Consequence.NOTED, 10, id="many, where no earlier answer is misplaced"),
        pytest.param(0, Consequence.NOTED, 0, id="many in a first build: it may be the encoder"),
    ],
)
def test_new_answers_about_other_tools_are_taken_back(
    tmp_path: Path, answered_before: int, consequence: Consequence, taken: int
) -> None:
    names = [f"tool_{number:02}" for number in range(40)]
    first = catalog(*names)
    # Ten tools are new, or have changed since they were answered.
    today = catalog_records(
        make_raw(record.name, description=record.description + " More." * (number >= 30))
        for number, record in enumerate(first.records)
    )
    with Ledger.open(tmp_path) as ledger, ModelServer() as server:
        chain = [DirectGenerator(server.settings(concurrency=40))]

        def asked(about: Catalog, count: int) -> tuple[EnrichmentContext, Enrichment]:
            run, found = ledger.start_run("office"), Enrichment()
            context = EnrichmentContext(about, ledger, run, SilentProgress(), lambda _, one: (one, ()), "office")
            enrich(context, chain, batch=about.records[:count], into=found)
            return context, found

        asked(first, answered_before)
        context, written = asked(today, 40)
        verdicts = tuple(
            TextVerdict(record.tool_id, "user_phrases", "another", "misplaced", consequence)
            for record in today.records[30:]
        )
        state = cast(BuildState, SimpleNamespace(enrichment=written, catalog=today, chain=chain))
        assert take_back_misplaced(context, state, Findings(verdicts)) == (taken > 0)
        assert len(written.rejected) == taken
        assert len(written.stale) == (10 if answered_before == 40 else 0)
        before = len(server.requests)
        asked(today, 40)
        assert len(server.requests) == before + taken
