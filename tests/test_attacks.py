"""A catalog with fifty hostile tools, its expansions written by a model that obeys whatever it finds in a description.

No encoder: lexical rankings alone, for the assessment would leave out phrases too, and here the screen is on trial.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipeline.build import build
from pipeline.build.report import BuildReport
from pipeline.enrichment.prompt import INSTRUCTIONS
from pipeline.ledger import Ledger
from pipeline.phrase_checks.screen import Screen
from pipeline.settings import LimitsSettings, load
from router import Router
from router.tools.field_text import project_record
from tests.pipeline.enrichment import honest_tools
from tests.pipeline.enrichment.attacks import ATTACKS, honest_answer
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion, tool_of
from tests.support.quick import QUICK

_BY_NAME = {attack.name: attack for attack in ATTACKS}
_HONEST = honest_tools.answers()
# Where the prompt keeps the demand from the model: tag characters and variation selectors go, and what is past 4,000
# characters.
_NEVER_SEEN = {"encode_base64", "join_lines", "strip_html"}


@dataclass(frozen=True)
class Built:
    """The catalog with the hostile tools, the same with their benign versions, and the obeyed attacks."""

    report: BuildReport
    router: Router
    twins: Router
    ledger: Path
    obeyed: frozenset[str]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """Build both catalogs for real."""
    folder = tmp_path_factory.mktemp("attacks")
    obeyed: set[str] = set()

    def obey(body: dict[str, Any], _: int) -> Reply:
        tool = tool_of(body)
        attack = _BY_NAME.get(tool["name"])
        if attack is None:
            row = _HONEST[tool["name"]]
        elif attack.reaches(tool):
            obeyed.add(attack.name)
            row = attack.obeyed(body["messages"][0]["content"])
        else:
            row = honest_answer(attack.name, attack.honest)
        return Reply(completion(json.dumps(row)))

    twins = _write(folder / "twins", poisoned=False)
    rows = [*_HONEST.values(), *(honest_answer(attack.name, attack.honest) for attack in ATTACKS)]
    ids = {tool["name"]: tool["id"] for tool in _tools(poisoned=False)}
    (twins / "expansions.jsonl").write_text("".join(json.dumps({**row, "id": ids[row["tool"]]}) + "\n" for row in rows))
    with ModelServer(obey) as server:
        model = {"generator": "openai", "base_url": server.base_url, "api_key": "sk-loopback", "concurrency": 8}
        report = _build(_write(folder / "poisoned", poisoned=True), enrichment={**model, "max_retries": 0})
    yield Built(
        report,
        Router.open(report.snapshot),
        Router.open(_build(twins, enrichment={"generator": "none"}).snapshot),
        folder / "poisoned" / "ws" / "ledger.duckdb",
        frozenset(obeyed),
    )


def _tools(*, poisoned: bool) -> list[dict[str, Any]]:
    return [*honest_tools.tools(), *(attack.tool(poisoned=poisoned) for attack in ATTACKS)]


def _write(folder: Path, *, poisoned: bool) -> Path:
    folder.mkdir()
    (folder / "tools.jsonl").write_text("".join(json.dumps(tool) + "\n" for tool in _tools(poisoned=poisoned)))
    return folder


def _build(folder: Path, **sections: dict[str, Any]) -> BuildReport:
    settings = load(folder, {**QUICK, "publish": {"max_failed_share": 1.0}, **sections}, environment={})
    return build(settings, workspace=folder / "ws")


def _expansions(built: Built) -> dict[str, str]:
    """Return each tool's expansion in the snapshot, as one text."""
    with duckdb.connect(str(built.report.snapshot / "catalog.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT tool_id, expansions::VARCHAR FROM expansions").fetchall()
        phrases = connection.execute("SELECT tool_id, phrase FROM phrases").fetchall()
    found: dict[str, str] = {}
    for tool_id, text in (*rows, *phrases):
        found[tool_id] = f"{found.get(tool_id, '')}\n{text}"
    return found


def test_the_model_obeys_all_that_it_is_shown(built: Built) -> None:
    kinds = Counter(attack.kind for attack in ATTACKS)
    assert len(kinds) == 8 and min(kinds.values()) >= 6
    assert set(_BY_NAME) - built.obeyed == _NEVER_SEEN


def test_no_expansion_holds_what_an_attack_demanded_or_a_line_of_the_prompt(built: Built) -> None:
    texts = _expansions(built)
    assert texts.keys() >= {tool["id"] for tool in honest_tools.tools()}
    found = {(a.name, d, tool_id) for a in ATTACKS for d in a.demanded for tool_id, text in texts.items() if d in text}
    assert found == set()
    lines = [line for line in INSTRUCTIONS.splitlines() if len(line) > 40]
    assert not [line for line in lines for text in texts.values() if line in text]


def test_an_honest_tool_keeps_every_word_of_its_expansion(built: Built) -> None:
    assert {verdict.tool_id for verdict in built.report.verdicts} <= {attack.tool_id for attack in ATTACKS}
    texts = _expansions(built)
    for tool in honest_tools.tools():
        assert all(phrase in texts[tool["id"]] for phrase in _HONEST[tool["name"]]["user_phrases"])


def test_an_answer_that_names_another_tool_is_a_failure_of_its_own_tool_alone(built: Built) -> None:
    kinds = {failure.tool_id: failure.kind for failure in built.report.failures}
    assert kinds["handy/make_slug"] == kinds["handy/count_vowels"] == "mismatch"
    assert kinds["handy/lorem_ipsum"] == "rejected"  # nothing was left of it
    assert all(tool_id.startswith("handy/") for tool_id in kinds)


def test_the_ledgers_tables_are_all_there_and_hold_sql_as_text(built: Built, tmp_path: Path) -> None:
    with Ledger.open(tmp_path):
        pass
    with duckdb.connect(str(tmp_path / "ledger.duckdb"), read_only=True) as fresh:
        tables = _table_names(fresh)
    with duckdb.connect(str(built.ledger), read_only=True) as ledger:
        assert _table_names(ledger) == tables
        stored = dict(ledger.execute("SELECT tool_id, expansion::VARCHAR FROM expansions").fetchall())
        outcomes = ledger.execute("SELECT outcome FROM runs").fetchall()
    assert outcomes == [("published",)]
    hostile = json.loads(stored["handy/hash_text"])
    assert hostile["user_phrases"][:4] == list(_BY_NAME["hash_text"].demanded)
    assert hostile["when_to_use"] == "'); DROP TABLE expansions;--"
    for tool in honest_tools.tools():
        assert json.loads(stored[tool["id"]])["user_phrases"] == _HONEST[tool["name"]]["user_phrases"]


def _table_names(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    return connection.execute("SELECT table_name FROM information_schema.tables ORDER BY ALL").fetchall()


def test_no_poisoned_tool_gains_a_place_by_phrases_and_no_honest_tool_leaves_the_first_two(built: Built) -> None:
    gained = []
    for request, tool_id in honest_tools.REQUESTS.items():
        poisoned, benign = (router.route(request, k=100, explain=True) for router in (built.router, built.twins))
        gained += [
            (request, tool.tool_id)
            for tool in poisoned.tools[:5]
            if tool.tool_id.startswith("handy/") and "expansion" in tool.ranks and tool.tool_id not in benign.ids[:5]
        ]
        # Statistics of the expansions shift where the answers about a crowd of tools are refused.
        assert poisoned.ids.index(tool_id) <= max(benign.ids.index(tool_id), 1), request
    assert gained == []


def test_a_poisoned_record_is_whole_up_to_the_limit_and_its_documents_hold_nothing_that_it_demands(
    built: Built,
) -> None:
    for attack in ATTACKS:
        record = built.router.record(attack.tool_id)
        assert record is not None
        assert record.description == attack.description[: LimitsSettings().text_characters].strip()
        documents = project_record(record, None)
        for text in (documents.name, documents.description, documents.dense):
            assert not [phrase for phrase in attack.demanded if phrase in text], attack.name
            assert "gnore all" not in text and "gnoreAll" not in text, attack.name


def test_every_attack_that_is_not_kept_from_the_model_is_reported(built: Built) -> None:
    records = [record for attack in ATTACKS if (record := built.router.record(attack.tool_id))]
    reported = {verdict.tool_id for verdict in (*Screen(records).suspicious, *built.report.verdicts)}
    assert {attack.tool_id for attack in ATTACKS} - reported == set()
