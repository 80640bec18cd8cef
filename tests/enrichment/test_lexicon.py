"""Expansions from the lexicon."""

import pytest

from pipeline.enrichment import Expansion
from pipeline.enrichment.generator import Answer
from pipeline.enrichment.lexicon import LexiconGenerator
from router.record import Parameter, ToolRecord
from tests.enrichment.model_server import replies
from tests.factories import make_record


def _expand(record: ToolRecord) -> Expansion:
    (answer,) = replies(LexiconGenerator(), [record])
    assert isinstance(answer, Answer) and answer.tool_id == record.tool_id
    return answer.expansion


def test_the_whole_expansion_of_one_small_tool() -> None:
    record = make_record(
        "create_invoice",
        "acme",
        description="Bills a customer. Slowly.",
        parameters=(Parameter("due_date", "string"), Parameter("customer", "object"), Parameter("customer.id", "str")),
        categories=("billing",),
    )
    assert _expand(record) == Expansion(
        when_to_use="Bills a customer",
        user_phrases=(
            "Bills a customer",
            "make invoice",  # create = make, add, set up, new, ...
            "add invoice",
            "set up invoice",
            "new invoice",
            "make bill",  # invoice = bill, ...
            "make invoice in acme",
            "invoice in acme",
            "create invoice",
        ),
        synonyms=("add", "set up", "new", "start a", "bill", "what a customer owes"),
        related_concepts=("due date", "customer"),
        task_categories=("billing", "create invoice"),
    )


def test_two_generators_write_the_same_under_the_same_model_name() -> None:
    records = [make_record("list_charges"), make_record("sendMessage", None, description="")]
    first, second = LexiconGenerator(), LexiconGenerator()
    assert list(replies(first, records)) == list(replies(second, records))
    assert first.model == second.model
    assert first.model.startswith("lexicon-")


@pytest.mark.parametrize("name", ["list_charges", "charges_list", "listCharges", "Charges-List", "CHARGES.LIST"])
def test_a_verb_is_found_at_either_end_of_a_name_in_any_case(name: str) -> None:
    phrases = _expand(make_record(name, None, description="")).user_phrases
    assert phrases[:4] == ("show me all charges", "what are my charges", "give me a list of charges", "see all charges")


def test_a_verb_is_found_inside_a_name() -> None:
    assert "make team issue" in _expand(make_record("team_create_issue", None, description="")).user_phrases


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("delete_repository", "remove repo"),
        ("delete_repositories", "remove repo"),  # the plural of -ies
        ("delete_branches", "remove version of the code"),  # of -es
        ("delete_expense", "remove cost"),
    ],
)
def test_nouns_are_swapped_for_everyday_words(name: str, phrase: str) -> None:
    assert phrase in _expand(make_record(name, None, description="")).user_phrases


def test_a_name_without_a_known_verb_stands_for_itself() -> None:
    assert _expand(make_record("users", None, description="")).user_phrases == ("users",)


@pytest.mark.parametrize("name", ["顧客情報", "получить_счёт", "---", "🙂", "123", "_", "a"])
@pytest.mark.parametrize("provider", [None, "mcp-server", "io.github.acme/acme-mcp"])
def test_a_name_of_any_script_or_without_letters_still_has_a_phrase(name: str, provider: str | None) -> None:
    phrases = _expand(make_record(name, provider, description="")).user_phrases
    assert phrases
    assert name.replace("_", " ").strip() in " ".join(phrases)


def test_without_description_the_operation_says_when_to_use_it() -> None:
    expansion = _expand(make_record("create_refund", "stripe", description=""))
    assert expansion.when_to_use == "create refund in stripe"
    assert expansion.user_phrases[0] == "make refund"


@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        ("Used to list users. More.", "list users"),
        ("This tool finds flights", "finds flights"),
        ("# Flights\n\nFinds flights.", "Flights"),
        ("Is it raining? Ask here.", "Is it raining?"),
        ("...", "find flight"),
        ("word " * 500_000, ("word " * 32).strip()),
    ],
)
def test_the_first_sentence_says_when_to_use_it(description: str, sentence: str) -> None:
    assert _expand(make_record("find_flight", None, description=description)).when_to_use == sentence


@pytest.mark.parametrize("provider", ["slack", "io.github.someone/slack-mcp", "slack-api"])
def test_a_provider_in_the_name_is_said_as_the_place(provider: str) -> None:
    expansion = _expand(make_record("slack_post_message", provider, description=""))
    assert "send message in slack" in expansion.user_phrases
    assert expansion.task_categories == ("post message",)


def test_ten_thousand_parameters_give_eight_concepts() -> None:
    parameters = tuple(Parameter(f"field_{number}", "string") for number in range(10_000))
    concepts = _expand(make_record(parameters=parameters)).related_concepts
    assert concepts == tuple(f"field {number}" for number in range(8))
