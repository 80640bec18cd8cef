"""Tell text of a catalog's own languages from ciphers and codes, by trigrams of characters."""

from collections import Counter
from collections.abc import Iterable

# A trigram that stands fewer times in the catalog is no evidence of its languages.
_FEWEST = 3
# Texts that are counted: more of a large catalog add time and no trigrams.
_MOST_TEXTS = 20_000


class Readability:
    """Says how much of a text is made of the trigrams that a catalog's subjects and phrases are made of."""

    def __init__(self, texts: Iterable[str]) -> None:
        counts: Counter[str] = Counter()
        for _, text in zip(range(_MOST_TEXTS), texts, strict=False):
            counts.update(_trigrams(text))
        self._known = frozenset(trigram for trigram, count in counts.items() if count >= _FEWEST)

    def share(self, text: str) -> float:
        """Return the share of a text's trigrams that the catalog knows, 0 to 1. Ciphers and codes have below .6."""
        trigrams = _trigrams(text)
        return sum(trigram in self._known for trigram in trigrams) / len(trigrams)


def _trigrams(text: str) -> list[str]:
    padded = f"  {text.casefold()} "
    return [padded[start : start + 3] for start in range(len(padded) - 2)]
