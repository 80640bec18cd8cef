"""Number and articles."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from router.tools.lexicon.grammar import NounPhrase, load_lexicon, plural, singular

KNOWN = sorted(set(load_lexicon()["nouns"]) | set(load_lexicon()["classes"]["singular"]))


# "status" as it is said of one: a mass noun here.
PLURALS = (
    "issue/issues company/companies day/days branch/branches address/addresses status/status person/people "
    "analysis/analyses series/series cache/caches malware/malware campus/campuses"
)


@pytest.mark.parametrize("pair", PLURALS.split())
def test_a_noun_and_its_plural(pair: str) -> None:
    one, several = pair.split("/")
    assert (plural(one), singular(several)) == (several, one)


@given(st.sampled_from(KNOWN))
def test_the_plural_of_a_noun_that_the_lexicon_knows_leads_back_to_it(noun: str) -> None:
    assert singular(noun) == noun
    assert singular(plural(noun)) == noun


# Words in "ou" are few, and those in "ous" are adjectives.
@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=12).filter(lambda noun: not noun.endswith("ou")))
def test_a_plural_is_its_own_plural_and_leads_back(noun: str) -> None:
    assume(plural(noun) not in KNOWN)  # "https" is no plural of "http"
    assert plural(plural(noun)) == plural(noun)
    assert noun.endswith(("s", "e", "z")) or singular(plural(noun)) == noun


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
