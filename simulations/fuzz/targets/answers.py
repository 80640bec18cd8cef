"""What models answer: the text of a completion, the body of a response, and the lines of a batch's files."""

import json

from pipeline.enrichment.generator import GeneratedExpansion, Question, TokenUsage
from pipeline.enrichment.openai.answers import read_answer
from pipeline.enrichment.openai.batch_calls import read_line
from pipeline.enrichment.openai.chat import Completion, Fault, read_completion
from router.expansion import Expansion
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds
from tests.support.factories import make_record

_QUESTION = Question("list_charges", make_record("list_charges"))


def _read(completion: Completion) -> None:
    outcome = read_answer(completion, _QUESTION, TokenUsage())
    if isinstance(outcome, GeneratedExpansion):
        stored = json.dumps(outcome.expansion.to_json(), ensure_ascii=False).encode()
        assert Expansion.from_json(json.loads(stored)) == outcome.expansion, "an expansion changes when stored"
    else:
        assert outcome.message, "no reason is given"


def _text(resources: Resources) -> Run:
    return lambda data: _read(Completion(data.decode("utf-8", "surrogateescape")))


def _batch(resources: Resources) -> Run:
    def run(data: bytes) -> None:
        for line in data.split(b"\n"):
            found = read_line(line)
            if found is None:
                continue
            _, result = found
            if isinstance(result, Completion):
                _read(result)
            else:
                assert isinstance(result, Fault) and result.message, "no reason is given"

    return run


def _body(resources: Resources) -> Run:
    return lambda data: _read(read_completion(read_object(data)))


_ROW = {"tool": "list_charges", **{key: value for key, value in seeds.EXPANSIONS[0].items() if key != "id"}}
_BOTH = {"answers": [_ROW, {**_ROW, "tool": "create_refund"}]}
_TEXTS = (
    seeds.document(_ROW),
    seeds.document(_BOTH),
    b"<think>{}</think> Here it is:\n```json\n" + seeds.document(_ROW) + b"\n```",
)
_USAGE = {"prompt_tokens": 9, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 3}}
_COMPLETION = {
    "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(_BOTH)}}],
    "usage": _USAGE,
}
_LINES = [
    {"custom_id": "a", "response": {"status_code": 200, "body": _COMPLETION}, "error": None},
    {"custom_id": "b", "response": {"status_code": 429, "body": {"error": {"code": "busy", "message": "later"}}}},
    {"custom_id": "c", "response": None, "error": {"code": "batch_expired", "message": "too late"}},
]
TARGETS = (
    Target("model_answer", Form.JSON, _TEXTS, _text, ()),
    # ValueError is what callers take for a body that holds no completion.
    Target("completion", Form.JSON, (seeds.document(_COMPLETION),), _body, (ValueError,)),
    Target("batch_lines", Form.LINES, (seeds.lines(_LINES),), _batch, ()),
)
