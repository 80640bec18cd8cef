"""Number and articles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.tools.grammar import NounPhrase, load_lexicon, plural, singular

# "status" as it is said of one: a mass noun here.
PLURALS = (
    "issue/issues company/companies day/days branch/branches address/addresses status/status person/people "
    "analysis/analyses series/series cache/caches malware/malware campus/campuses"
)


@pytest.mark.parametrize("pair", PLURALS.split())
def test_a_noun_and_its_plural(pair: str) -> None:
    one, several = pair.split("/")
    assert (plural(one), singular(several)) == (several, one)


@given(st.sampled_from(sorted({*load_lexicon()["nouns"], *load_lexicon()["classes"]["singular"]})))
def test_the_plural_of_a_noun_that_the_lexicon_knows_leads_back_to_it(noun: str) -> None:
    assert singular(noun) == singular(plural(noun)) == noun


@pytest.mark.parametrize(
    ("words", "a", "the"),
    [
        ("issue", "an issue", "the issue"),
        ("issues", "issues", "the issues"),
        ("malware", "malware", "malware"),
        ("user role", "a user role", "the user role"),
        ("hour", "an hour", "the hour"),
        ("item to cart", "an item to the cart", "the item to the cart"),
        ("repos for org", "repos for the org", "the repos for the org"),
        ("accounts account capabilities", "account capabilities", "the account capabilities"),
        ("for org", "for the org", "for the org"),
    ],
)
def test_articles_stand_where_people_say_them(words: str, a: str, the: str) -> None:
    thing = NounPhrase.of(words.split())
    assert (thing.with_a(), thing.with_the()) == (a, the)
