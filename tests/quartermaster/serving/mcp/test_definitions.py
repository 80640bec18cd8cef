"""The definitions that models read are short: every dialogue pays for them."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tiktoken

from quartermaster.adapters.tool_search import DESCRIPTION, NAME, STATE_NEEDS, Searched, schema_of
from quartermaster.serving.mcp.definitions import DEFINITIONS


@pytest.fixture
def encoding(monkeypatch: pytest.MonkeyPatch) -> tiktoken.Encoding:
    """OpenAI's o200k, from the copy that LlamaIndex ships."""
    if (llama_index := find_spec("llama_index.core")) is None or llama_index.origin is None:
        pytest.skip("llama-index is not installed")
    tables = Path(llama_index.origin).parent / "_static" / "tiktoken_cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tables))
    return tiktoken.get_encoding("o200k_base")


def test_a_search_tool_takes_at_most_250_tokens_and_teaches_needs(encoding: tiktoken.Encoding) -> None:
    find_tools = DEFINITIONS[0]
    searches: list[tuple[str, str, dict[str, Any]]] = [
        (find_tools.name, find_tools.description or "", find_tools.input_schema),
        (NAME, DESCRIPTION, schema_of(Searched)),
    ]
    for name, description, schema in searches:
        whole = msgspec.json.encode({"name": name, "description": description, "input_schema": schema})
        assert len(encoding.encode(whole.decode())) <= 250
        assert description.endswith(STATE_NEEDS) and "needs" in schema["required"]
