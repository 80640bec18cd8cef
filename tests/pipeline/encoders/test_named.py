"""A short name stands for a model of the hub, whose revision may be pinned."""

import pytest

from pipeline.encoders.named import full_name, is_english


@pytest.mark.parametrize(
    ("encoder", "full", "english"),
    [
        ("bge", "BAAI/bge-small-en-v1.5", True),
        ("bge@main", "BAAI/bge-small-en-v1.5@main", True),
        ("bge-large", "BAAI/bge-large-en-v1.5", True),
        ("multilingual", "intfloat/multilingual-e5-small", False),
        ("minilm-tools-v1", "minilm-tools-v1", True),
        ("acme/encoder@v2", "acme/encoder@v2", False),
        ("encoders/bge", "encoders/bge", False),
        ("auto", "auto", False),
    ],
)
def test_a_short_name_is_a_model_of_the_hub_and_all_else_is_itself(encoder: str, full: str, english: bool) -> None:
    assert full_name(encoder) == full
    assert is_english(full) is english
