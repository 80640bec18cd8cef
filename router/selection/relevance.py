"""The combined score of a candidate, as vLLM Semantic Router defines it (#1002, `pkg/tools/relevance.go`).

    combined = Σ weight × signal / Σ weight, over embed, lexical, tag, name and category, each in [0, 1]

embed     the cosine of request and tool, held to [0, 1]
lexical   how many different tokens of the request the tool's name, description and categories have, to the request's
          tokens
tag       how many different tokens of the request its tags have, to the tags' tokens
name      1 where the request has every token of the name
category  1 where the tool has the category that came with the request

Tokens are runs of letters and digits of any script, in lower case. Where all weights are set to 0, the score is 0. One
tool has one category there; here it may have several. Tags (`ToolRecord.tags`) never count as lexical.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from router.record import ToolRecord
from router.snapshot.facets import normalize_name

# Unicode's letters and numbers: `\w` without the underscore.
_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class RelevanceQuery:
    """A request as the combined score reads it: its tokens, repeated ones too, and its category."""

    tokens: tuple[str, ...]
    category: str | None = None

    @cached_property
    def unique(self) -> frozenset[str]:
        """Its different tokens."""
        return frozenset(self.tokens)


def tokens(text: str) -> tuple[str, ...]:
    """The tokens of a text, in order."""
    return tuple(_TOKEN.findall(text.lower()))


def token_overlap(record: ToolRecord, asked: Collection[str]) -> int:
    """How many different tokens of a request a tool's name, description and categories have."""
    own = {token for text in (record.name, record.description, *record.categories) for token in tokens(text)}
    return len(own.intersection(asked))


def relevance_signals(record: ToolRecord, asked: RelevanceQuery, cosine: float, shared: int) -> Mapping[str, float]:
    """The five signals of a tool, each in [0, 1]; `shared` is its `token_overlap` with the request."""
    unique = asked.unique
    category = None if asked.category is None else normalize_name(asked.category)
    tags = [token for tag in record.tags for token in tokens(tag)]
    name = tokens(record.name)
    return {
        "embed": min(max(cosine, 0.0), 1.0),
        "lexical": _share(shared, len(asked.tokens)),
        "tag": _share(len(unique.intersection(tags)), len(tags)),
        "name": float(bool(name) and unique.issuperset(name)),
        "category": float(category is not None and category in map(normalize_name, record.categories)),
    }


def combined_score(parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The weighted mean of the signals, in [0, 1]; 0 where no weight is above 0."""
    total = sum(weights.values())
    return sum(weight * parts[name] for name, weight in weights.items()) / total if total else 0.0


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
