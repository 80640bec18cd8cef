"""Files that people and programs write beside a catalog: expansions, judged requests, logs of past requests."""

from pipeline.enrichment.chain import FileGenerator
from pipeline.enrichment.generator import GeneratedExpansion
from pipeline.learning.usage.log import read_usage
from quartermaster.evaluation.judgements import read_judgements
from router.expansion import Expansion
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import Resources, Run, Target
from simulations.fuzz.targets import seeds
from tests.support.factories import TOOLS, make_record

_RECORDS = [make_record(tool["name"], tool["provider"], description=tool["description"]) for tool in TOOLS]
_IDS = {record.tool_id: record.tool_id for record in _RECORDS}


def _expansions(resources: Resources) -> Run:
    write = resources.file("expansions.jsonl")

    def run(data: bytes) -> None:
        generator = FileGenerator(write(data), {})
        asked = [question for record in _RECORDS if (question := generator.question(record, ""))]
        for outcomes in generator.generate(asked):
            assert len(outcomes) == len(asked), "a tool's expansion vanished untold"
            for outcome in outcomes:
                if isinstance(outcome, GeneratedExpansion):
                    again = Expansion.from_json(outcome.expansion.to_json())
                    assert again == outcome.expansion, "an expansion changes when stored"
        assert all(rejected.reason for rejected in [*generator.rejected, *generator.unknown(_IDS)])

    return run


def _judgements(resources: Resources) -> Run:
    write = resources.file("judgements.jsonl")

    def run(data: bytes) -> None:
        judgements = read_judgements(write(data))
        assert len({judgement.id for judgement in judgements}) == len(judgements), "two judgements have one id"
        assert all(judgement.request.strip() for judgement in judgements), "a request is empty"

    return run


def _usage(resources: Resources) -> Run:
    write = resources.file("usage.jsonl")

    def run(data: bytes) -> None:
        log = read_usage(write(data), _IDS)
        assert log.rows >= len(log.requests) + len(log.rejected) + log.toolless, "a row was counted twice"
        for past in log.requests:
            assert past.shares.keys() <= _IDS.keys(), "a past request led to an unknown tool"
            assert all(0 < share <= 1 for share in past.shares.values()), "a share is out of its range"

    return run


TARGETS = (
    Target("expansions", Form.LINES, (seeds.lines(seeds.EXPANSIONS),), _expansions),
    Target("judgements", Form.LINES, (seeds.lines(seeds.JUDGEMENTS),), _judgements),
    Target("usage_log", Form.LINES, (seeds.lines(seeds.USAGE),), _usage),
)
