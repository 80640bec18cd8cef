"""A provider's label as people say it."""

import pytest

from router.tools.text_overlap import is_long, label_words, short_label


@pytest.mark.parametrize(
    ("provider", "said", "short"),
    [
        (None, "", ""),
        ("azure/key-vault", "key vault", "azure/key-vault"),
        ("@acme/mail-mcp-server", "mail", "mail"),
        ("The GitHub's official OpenAPI spec and extensions", "github and extensions", "github and extensions"),
        ("the official REST API server", "", "the official REST API se"),  # nothing but boilerplate
    ],
)
def test_a_label_is_said_without_path_and_boilerplate_and_only_a_long_one_is_cut(
    provider: str | None, said: str, short: str
) -> None:
    assert " ".join(label_words(provider)) == said
    assert short_label(provider) == short
    assert is_long(provider or "") == (short != (provider or ""))
