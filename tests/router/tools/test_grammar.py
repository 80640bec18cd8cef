"""Number."""

import pytest

from router.tools.grammar import NounPhrase, singular

# "status" as it is said of one: a mass noun here.
PLURALS = (
    "issue/issues company/companies day/days branch/branches address/addresses status/status person/people "
    "analysis/analyses series/series cache/caches malware/malware campus/campuses"
)


@pytest.mark.parametrize("pair", PLURALS.split())
def test_a_noun_and_its_plural(pair: str) -> None:
    one, several = pair.split("/")
    assert singular(several) == singular(one) == one


@pytest.mark.parametrize(
    ("words", "text", "one"),
    [
        ("user roles", "user roles", "user role"),
        ("malware", "malware", "malware"),
        ("repos for org", "repos for org", "repo for org"),
        ("accounts account capabilities", "account capabilities", "account capability"),
        ("for org", "for org", "for org"),
    ],
)
def test_a_noun_phrase_in_its_own_number_and_in_the_singular(words: str, text: str, one: str) -> None:
    phrase = NounPhrase.of(words.split())
    assert (phrase.text, phrase.one().text) == (text, one)
