"""A provider's label as people say it."""

import pytest

from router.tools.text_overlap import is_long, label_words, short_label


def test_a_label_is_long_past_three_words_or_24_characters() -> None:
    labels = ("google-calendar", "azure/key-vault", "a b c d", "a" * 25)
    assert [is_long(label) for label in labels] == [False, False, True, True]


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        (None, ()),
        ("azure/monitor", ("monitor",)),
        ("@acme/mail-mcp-server", ("mail",)),
        ("GitHub's official OpenAPI spec", ("github",)),
        ("REST API", ()),
    ],
)
def test_a_label_is_said_without_its_path_and_boilerplate(provider: str | None, said: tuple[str, ...]) -> None:
    assert label_words(provider) == said


@pytest.mark.parametrize(
    ("provider", "short"),
    [
        (None, ""),
        ("azure/key-vault", "azure/key-vault"),
        ("The GitHub's official OpenAPI spec and extensions", "github and extensions"),
        ("the official REST API server", "the official REST API se"),  # nothing but boilerplate
    ],
)
def test_only_a_long_label_is_cut_to_its_first_words(provider: str | None, short: str) -> None:
    assert short_label(provider) == short
