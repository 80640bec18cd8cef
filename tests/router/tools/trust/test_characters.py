"""Hidden characters, and scripts."""

import pytest

from router.tools.trust.characters import (
    first_hidden_character,
    first_smuggled_character,
    foreign_script,
    scripts_of_languages,
    strip_hidden,
)


@pytest.mark.parametrize(
    "text",
    [
        "plain text, \u00a320, 5 \u03bcm, na\u00efve",
        "می\u200cخواهم پرداخت کنم",  # Persian: the non-joiner is spelling
        "क्\u200dष और क्\u200cष",  # Devanagari: both joiners are
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 photo",  # a family
        "\u845b\U000e0100 clan",  # a variant of a Han character
        "\u05e9\u05dc\u05d5\u05dd\u200f, hi",  # a mark after Hebrew
        "отправь email",
        "вариант А из двух",  # a lone look-alike among Cyrillic words
    ],
)
def test_what_a_script_needs_is_not_hidden(text: str) -> None:
    assert first_hidden_character(text) == "" and strip_hidden(text) == text


@pytest.mark.parametrize(
    ("text", "found", "shown"),
    [
        ("pay\u200b now", "U+200B", "pay now"),
        ("pay\x00now", "U+0000", "pay now"),
        ("\ufeffpay", "U+FEFF", "pay"),
        ("pay \u202ewon", "U+202E", "pay won"),
        ("pay\U000e0061\U000e0062", "U+E0061", "pay"),
        ("\U0001f642\ufe0f\ufe01\ufe02", "U+FE01", "\U0001f642\ufe0f"),
        ("pay\ue000", "U+E000", "pay"),
        ("pay \u3164 now", "U+3164", "pay  now"),
        ("می\u200c\u200cخواهم", "U+200C", "می\u200cخواهم"),
        ("pay\u2028now", "U+2028", "pay now"),
        ("pay\U000e0100 now", "U+E0100", "pay now"),
    ],
)
def test_what_nobody_sees_is_named_and_taken_away(text: str, found: str, shown: str) -> None:
    assert first_hidden_character(text) == found
    assert strip_hidden(text) == shown


def test_letters_that_pass_for_others_are_hidden_text_and_text_for_machines_alone_is_smuggled() -> None:
    assert all(map(first_hidden_character, ("p\u0430ypal", "\u0440\u0430ypal", "book \u0430 flight")))
    assert first_smuggled_character("a\U000e0041b") == "U+E0041"
    assert first_smuggled_character("\U0001f642\ufe01\ufe02\ufe03") == "U+FE01"
    assert first_smuggled_character("a\u200bb\u00ad \u2764\ufe0f") == ""


@pytest.mark.parametrize(
    ("text", "languages", "script"),
    [
        ("show the payments", ("en",), ""),
        ("покажи платежи", ("en",), "CYRILLIC"),
        ("покажи платежи", ("en", "ru"), ""),
        ("用 GitHub Actions 部署", ("zh",), ""),
        ("deploy with GitHub", ("zh",), "LATIN"),
        ("the 支払い page of my shop", ("en",), ""),  # mostly Latin
        ("2026-05-03 €20", ("ru",), ""),  # no letters at all
    ],
)
def test_most_letters_are_in_a_script_of_the_language(text: str, languages: tuple[str, ...], script: str) -> None:
    assert foreign_script(text, scripts_of_languages(languages)) == script
