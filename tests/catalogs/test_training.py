"""catalogs/training, which made the packaged encoder: it can be read, names tools that exist, and judges nothing."""

from pipeline.learning.encoder.several_catalogs import read_requests
from pipeline.settings import load
from pipeline.sources import read
from router.evaluation.judgements import read_judgements
from router.tools.definitions.normalization import tool_id_of
from tests.support.places import ROOT

FOLDER = ROOT / "catalogs" / "training"
FILES = sorted((FOLDER / "requests").glob("*.jsonl"))
OWN = [file for file in FILES if not file.stem.startswith("public")]


def test_every_row_is_read_and_names_tools_of_the_catalog_all_of_them_and_nothing_of_the_demo() -> None:
    tools = {tool_id_of(tool) for tool in read(load(FOLDER, environment={})).tools}
    judged = read_judgements(ROOT / "catalogs" / "demo" / "judgements.jsonl")
    found = {file: read_requests(file) for file in FILES}
    assert all(one.rejected == [] and len(one.requests) > 500 for one in found.values())
    assert {tool for file in OWN for _, needed in found[file].requests for tool in needed} == tools
    asked = {text.casefold() for one in found.values() for text, _ in one.requests}
    assert asked & {one.request.casefold() for one in judged} == set()
    assert tools & {tool for one in judged for tool in one.tools} == set()
