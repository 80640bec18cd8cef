"""The everyday words of the lexicon."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.record import Kind
from router.tools.grammar import load_lexicon
from router.tools.naming import EverydayWords, everyday_words
from tests.support.factories import make_record


def _requests(name: str, provider: str | None = None, **fields: Any) -> tuple[str, ...]:
    return everyday_words(make_record(name, provider, **{"description": "", **fields})).requests


def test_the_whole_words_of_one_small_tool() -> None:
    assert everyday_words(make_record("create_invoice", "acme")) == EverydayWords(
        ("create invoice", "make invoice", "add invoice"),
        ("make", "add", "new", "set up", "start a", "bill", "what a customer owes"),
    )


@pytest.mark.parametrize("name", ["list_charges", "charges_list", "listCharges", "Charges-List", "CHARGES.LIST"])
def test_a_verb_is_found_at_either_end_of_a_name_in_any_case(name: str) -> None:
    assert _requests(name)[:3] == ("list charges", "show me all charges", "what are my charges")


@pytest.mark.parametrize("name", ["timeport", "users", "is_valid_email"])
@pytest.mark.parametrize("provider", [None, "acme"])
def test_a_name_without_a_known_verb_stands_for_itself(name: str, provider: str | None) -> None:
    assert _requests(name, provider) == (name.replace("_", " "),)


def test_nobody_asks_a_skill_to_do_what_its_name_says() -> None:
    skill = make_record("create-release-notes", None, description="", kind=Kind.SKILL)
    assert everyday_words(skill) == EverydayWords(("create release notes",))


@pytest.mark.parametrize("name", ["顧客情報", "получить_счёт", "---", "🙂", "123", "_", "a"])
@pytest.mark.parametrize("provider", [None, "mcp-server", "io.github.acme/acme-mcp"])
def test_a_name_of_any_script_or_without_letters_still_has_words(name: str, provider: str | None) -> None:
    assert name.replace("_", " ").strip() in " ".join(_requests(name, provider))


@pytest.mark.parametrize("provider", ["slack", "io.github.someone/slack-mcp", "slack-api"])
def test_a_providers_name_is_left_out_of_requests(provider: str) -> None:
    assert _requests("slack_post_message", provider)[:2] == ("post message", "publish message")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        # A word that is noun and verb: the other one, or the place, decides.
        ("place_order", "make order"),
        ("order_create", "make order"),
        ("get_book", "get book"),
        ("book_flight", "reserve flight"),
        ("hotel_search", "search for hotel"),
        ("weather_query", "search weather"),
        ("team_create_issue", "make team issue"),
        # A namespace, of one thing and of many.
        ("issues/create", "make issue"),
        ("issues/list-comments", "show me all issue comments"),
        ("repos/list-for-org", "list repos for org"),
        ("packages/list-packages-for-user", "list packages for user"),
        ("actions/re-run-workflow", "rerun action workflow"),
        ("chat.postMessage", "post chat message"),
        ("pulls/request-reviewers", "ask for pull reviewers"),
        # A method and a path.
        ("get_/v1/users/{id}", "get user"),
        ("get_/v1/invoices", "list invoices"),
        ("post_/api/refunds", "create refund"),
        ("delete_/users/{id}/sessions", "delete user sessions"),
        # What stands after a preposition.
        ("getUserByID", "get user by id"),
        ("comment_on_issue", "comment on issue"),
        # More verbs than one.
        ("create_or_update_user", "create user"),
    ],
)
def test_requests_are_of_the_names_verb_and_its_object(name: str, said: str) -> None:
    assert said in _requests(name)


def test_the_method_of_an_operation_is_no_verb_of_people_and_a_tag_stands_in_for_a_noun() -> None:
    assert _requests("PostAccountsVerify", annotations={"method": "POST"})[0] == "verify accounts"
    assert "make auth configs" in _requests("postAuthConfigs", annotations={"method": "POST"})
    assert _requests("list", categories=("repos",))[0] == "list repos"


def test_a_verb_alone_has_words() -> None:
    """Without a noun, and without one where the provider's name is taken out of the tool's."""
    for verb in load_lexicon()["verbs"]:
        for name, provider in ((verb, None), (f"{verb}_acme", "acme")):
            assert _requests(name, provider) and everyday_words(make_record(name, provider)).synonyms


@given(st.text(max_size=40), st.sampled_from([None, "acme"]))
def test_whatever_the_name_no_text_is_empty_or_said_twice(name: str, provider: str | None) -> None:
    words = everyday_words(make_record(name.strip() or "-", provider))
    for texts in (words.requests, words.synonyms):
        assert all(texts) and len(set(texts)) == len(texts)
