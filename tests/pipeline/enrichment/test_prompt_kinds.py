"""What a model is asked about skills and prompts, and that nothing changed of what it is asked about tools."""

import json
from types import SimpleNamespace
from typing import Any, cast

from pipeline.enrichment.generator import Generator, Question
from pipeline.enrichment.openai.requests import RequestBuilder
from pipeline.enrichment.prompt import INSTRUCTIONS, NOTES, PROMPT_VERSION, packed_question, single_question
from pipeline.enrichment.questions import answer_key
from pipeline.settings import EnrichmentSettings
from router.fingerprint import fingerprint
from router.record import Kind, Parameter
from router.tools import lexicon
from tests.support.factories import make_record

CHARGES = make_record(parameters=(Parameter("status", "string", "Which ones.", ("paid", "failed"), required=True),))
REFUND = make_record("create_refund", description="Refunds a charge.")
SKILL = make_record("pdf-forms", "skills", description="Fill in forms.", kind=Kind.SKILL, instructions="Do it so.")
PROMPT = make_record("review", "git", description="Review a file.", kind=Kind.PROMPT)


def asked(*args: Any) -> dict[str, Any]:
    return dict(json.loads(single_question(*args)))


def test_the_questions_about_tools_are_as_they_were_before_there_were_skills() -> None:
    """The hashes are those of the version before: an answer that was paid for is under the second."""
    questions = [single_question(CHARGES, [REFUND], ["de"]), packed_question([CHARGES, REFUND])]
    assert fingerprint(questions) == "3bd6864b4e864250ba84b752540c988cf388a3ded0151766a166f02bda614214"
    generator = cast(Generator, SimpleNamespace(name="openai", model="gpt-5-mini"))
    shown = RequestBuilder(EnrichmentSettings()).prompt(Question("", CHARGES, (REFUND,)))
    assert answer_key(generator, shown) == "0a844da13e8bb14b1fc3e8fa2a63c361a9ae4f958c27f9ec54317a62b6c8ffc8"
    assert fingerprint(INSTRUCTIONS) == "a5af0bf5454d433d48f36b145e71b6638290b9c469ff05b4540f4e6db9fde2bd"
    assert (PROMPT_VERSION, lexicon.lexicon_version()) == (3, "9b295536")


def test_a_model_is_told_that_a_skill_is_no_tool_and_does_not_see_its_instructions() -> None:
    message = asked(SKILL)
    assert message["tool"] == {
        "kind": "skill",
        "provider": "skills",
        "name": "pdf-forms",
        "description": "Fill in forms.",
    }
    assert message["note"] == NOTES[Kind.SKILL]
    assert asked(PROMPT)["note"] == NOTES[Kind.PROMPT]


def test_a_pack_says_of_each_kind_in_it_what_that_is() -> None:
    message = json.loads(packed_question([CHARGES, PROMPT, SKILL]))
    assert message["note"] == f"{NOTES[Kind.SKILL]} {NOTES[Kind.PROMPT]}"
    assert [tool.get("kind") for tool in message["tools"]] == [None, "prompt", "skill"]


def test_a_tool_beside_a_skill_is_asked_about_as_before() -> None:
    assert "note" not in asked(CHARGES, [SKILL]) and "kind" not in asked(CHARGES, [SKILL])["tool"]
