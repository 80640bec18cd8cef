"""The combined score of a candidate, as vLLM Semantic Router defines it (#1002, `pkg/tools/relevance.go`).

    combined = Σ weight × signal / Σ weight, over embed, lexical, tag, name and category, each in [0, 1]

embed     the cosine of request and tool, clipped to [0, 1]
lexical   different tokens that the request shares with the tool's name, description and categories / tokens of the
          request
tag       different tokens that the request shares with the tool's tags / tokens of the tags
name      1 where the request has every token of the name
category  1 where the tool has the category that came with the request

Tokens are runs of letters and digits of any script, in lower case. Where all weights are set to 0, the score is 0. In
vLLM a tool has one category; here it may have several. Tags (`ToolRecord.tags`) never count as lexical.
"""

import re
from collections.abc import Collection, Mapping
from functools import cached_property

import msgspec

from router.record import ToolRecord
from router.snapshot.facets import normalize_name

# Unicode's letters and numbers, which is `\w` without the underscore.
_TOKEN = re.compile(r"[^\W_]+")


class RelevanceQuery(msgspec.Struct, frozen=True, dict=True):
    """A request as the combined score reads it: its tokens, with repetitions, and its category."""

    tokens: tuple[str, ...]
    category: str | None = None

    @cached_property
    def unique(self) -> frozenset[str]:
        """Return the different tokens."""
        return frozenset(self.tokens)


def tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of a text, in order."""
    return tuple(_TOKEN.findall(text.lower()))


def token_overlap(record: ToolRecord, query_tokens: Collection[str]) -> int:
    """Return how many of a request's different tokens occur in a tool's name, description or categories."""
    tool_tokens = {token for text in (record.name, record.description, *record.categories) for token in tokens(text)}
    return len(tool_tokens.intersection(query_tokens))


def relevance_signals(record: ToolRecord, query: RelevanceQuery, cosine: float, shared: int) -> Mapping[str, float]:
    """Return the five signals of a tool by name, each in [0, 1]. `shared` is its `token_overlap` with the request."""
    unique = query.unique
    category = None if query.category is None else normalize_name(query.category)
    tags = [token for tag in record.tags for token in tokens(tag)]
    name = tokens(record.name)
    return {
        "embed": min(max(cosine, 0.0), 1.0),
        "lexical": _share(shared, len(query.tokens)),
        "tag": _share(len(unique.intersection(tags)), len(tags)),
        "name": float(bool(name) and unique.issuperset(name)),
        "category": float(category is not None and category in map(normalize_name, record.categories)),
    }


def combined_score(parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the weighted mean of the signals, in [0, 1]; 0 where no weight is above 0."""
    total = sum(weights.values())
    return sum(weight * parts[name] for name, weight in weights.items()) / total if total else 0.0


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
