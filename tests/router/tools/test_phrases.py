"""The phrases of the lexicon."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.expansion import Expansion
from router.record import Parameter
from router.tools.grammar import load_lexicon
from router.tools.lexicon import expand
from tests.support.factories import make_record


def _phrases(name: str, provider: str | None = None, **fields: Any) -> tuple[str, ...]:
    return expand(make_record(name, provider, **{"description": "", **fields})).user_phrases


def test_the_whole_expansion_of_one_small_tool() -> None:
    record = make_record(
        "create_invoice",
        "acme",
        description="Bills a customer. Slowly.",
        parameters=(Parameter("due_date", "string"), Parameter("customer", "object"), Parameter("customer.id", "str")),
        categories=("billing",),
    )
    assert expand(record) == Expansion(
        when_to_use="Bills a customer",
        user_phrases=(
            "Bills a customer",
            "create an invoice",
            "make an invoice",  # create = make, add, new, set up, ...
            "add an invoice",
            "new invoice",
            "set up an invoice",
            "make a bill",  # invoice = bill, ...
            "make an invoice in acme",
            "invoice in acme",
            "create invoice",
        ),
        synonyms=("add", "new", "set up", "start a", "bill", "what a customer owes"),
        related_concepts=("due date", "customer"),
        task_categories=("billing", "create invoice"),
    )


@pytest.mark.parametrize("name", ["list_charges", "charges_list", "listCharges", "Charges-List", "CHARGES.LIST"])
def test_a_verb_is_found_at_either_end_of_a_name_in_any_case(name: str) -> None:
    said = ("list charges", "show me all charges", "what are my charges", "give me a list of charges")
    assert _phrases(name)[:4] == said


def test_a_name_without_a_known_verb_stands_for_itself_or_asks_for_the_thing() -> None:
    assert _phrases("timeport") == ("timeport",)
    assert _phrases("timeport", "acme") == ("acme timeport", "timeport")
    assert _phrases("users") == ("show me the users", "users")
    assert _phrases("weather") == ("show me the weather", "what is the weather", "weather")


@pytest.mark.parametrize("name", ["顧客情報", "получить_счёт", "---", "🙂", "123", "_", "a"])
@pytest.mark.parametrize("provider", [None, "mcp-server", "io.github.acme/acme-mcp"])
def test_a_name_of_any_script_or_without_letters_still_has_a_phrase(name: str, provider: str | None) -> None:
    assert name.replace("_", " ").strip() in " ".join(_phrases(name, provider))


def test_without_description_the_operation_says_when_to_use_it() -> None:
    expansion = expand(make_record("create_refund", "stripe", description=""))
    assert expansion.when_to_use == "create a refund in stripe"
    assert expansion.user_phrases[0] == "create a refund"


@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        ("Used to list users. More.", "list users"),
        ("This tool finds flights", "finds flights"),
        ("# Flights\n\nFinds flights.", "Flights"),
        ("Is it raining? Ask here.", "Is it raining?"),
        ("...", "find a flight"),
        ("word " * 500_000, ("word " * 32).strip()),
    ],
)
def test_the_first_sentence_says_when_to_use_it(description: str, sentence: str) -> None:
    assert expand(make_record("find_flight", None, description=description)).when_to_use == sentence


@pytest.mark.parametrize("provider", ["slack", "io.github.someone/slack-mcp", "slack-api"])
def test_a_provider_in_the_name_is_said_as_the_place(provider: str) -> None:
    expansion = expand(make_record("slack_post_message", provider, description=""))
    assert "publish a message in slack" in expansion.user_phrases
    assert expansion.task_categories == ("post message",)


def test_ten_thousand_parameters_give_eight_concepts() -> None:
    parameters = tuple(Parameter(f"field_{number}", "string") for number in range(10_000))
    concepts = expand(make_record(parameters=parameters)).related_concepts
    assert concepts == tuple(f"field {number}" for number in range(8))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        # A word that is noun and verb: the other one, or the place, decides.
        ("place_order", {"place an order", "order something"}),
        ("order_create", {"create an order", "make an order"}),
        ("get_book", {"get the book"}),
        ("book_flight", {"book a flight", "reserve a flight"}),
        ("hotel_search", {"search for hotels", "find hotels"}),
        ("weather_query", {"query the weather", "what is the weather"}),
        ("team_create_issue", {"make a team issue"}),
        # Everyday words for nouns.
        ("delete_repositories", {"remove the repos"}),
        ("list_messages", {"show me all text messages"}),
        ("delete_attachments", {"remove the attached files"}),
        # A namespace, of one thing and of many.
        ("issues/create", {"create an issue", "make an issue"}),
        ("issues/list-comments", {"list issue comments", "show me all issue comments"}),
        ("repos/list-for-org", {"list repos for the org"}),
        ("packages/list-packages-for-user", {"list packages for the user"}),
        ("actions/re-run-workflow", {"rerun the action workflow", "run the action workflow again"}),
        ("chat.postMessage", {"post a chat message"}),
        ("pulls/request-reviewers", {"ask for the pull reviewers"}),
        # A method and a path.
        ("get_/v1/users/{id}", {"get the user"}),
        ("get_/v1/invoices", {"list invoices"}),
        ("post_/api/refunds", {"create a refund"}),
        ("delete_/users/{id}/sessions", {"delete the user sessions"}),
        # What stands after a preposition.
        ("getUserByID", {"get the user by id"}),
        ("comment_on_issue", {"comment on the issue", "leave a note on the issue"}),
        # Number and articles.
        ("create_user", {"create a user"}),
        ("create_url", {"create a url"}),
        ("search_malware", {"search for malware", "find malware"}),
        ("children_list", {"list children"}),
        ("acr_registry_list", {"list acr registries"}),
        # More verbs than one, and none.
        ("create_or_update_user", {"create a user"}),
        ("loginUser", {"log in the user"}),
        ("server_login", {"log in to the server"}),
    ],
)
def test_phrases_read_as_somebody_would_say_them(name: str, said: set[str]) -> None:
    assert said - set(_phrases(name)) == set()


@pytest.mark.parametrize(
    ("name", "nonsense"),
    [
        ("place_order", "buy place"),
        ("send_email", "email email"),
        ("list_users", "show me all person"),
        ("get_orders", "what is orders"),
        ("storage_account_list", "show me all storage profiles"),
        ("is_valid_email", "show me the is valid email"),
    ],
)
def test_what_nobody_would_say_is_left_out(name: str, nonsense: str) -> None:
    assert nonsense not in _phrases(name)


def test_the_method_of_an_operation_is_no_verb_of_people_and_a_tag_stands_in_for_a_noun() -> None:
    assert _phrases("PostAccountsVerify", annotations={"method": "POST"})[0] == "verify the accounts"
    assert "make auth configs" in _phrases("postAuthConfigs", annotations={"method": "POST"})
    assert _phrases("list", categories=("repos",))[0] == "list repos"


@pytest.mark.parametrize("description", ["", "Does it."])
def test_a_verb_alone_has_phrases(description: str) -> None:
    """Without a noun, and without one where the provider's name is taken out of the tool's."""
    for verb in load_lexicon()["verbs"]:
        for name, provider in ((verb, None), (f"{verb}_acme", "acme")):
            assert _phrases(name, provider, description=description)


@given(st.text(max_size=40), st.sampled_from([None, "acme"]))
def test_whatever_the_name_each_phrase_is_complete(name: str, provider: str | None) -> None:
    expansion = expand(make_record(name.strip() or "-", provider, description=""))
    for phrase in (*expansion.user_phrases, expansion.when_to_use, *expansion.synonyms):
        assert not set(phrase) & set("{}~") - set(name)
        assert phrase == " ".join(phrase.split()) or not name.isascii()
