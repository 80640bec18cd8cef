"""How much of a text an encoder reads, by what its tokenizer leaves of it.

A letter is read where its token is of a script that the vocabulary has many pieces of. Unknown tokens and the bytes of
a cut character are unread, and so are scripts of which the vocabulary has little but single characters: such a vector
says how a text is spelled, not what it means.
"""

from collections import Counter
from typing import Any

from router.text import script

# An English vocabulary has at most 244 pieces of another script, a multilingual one 550 of each that it was made for.
# See docs/decisions/fusion.md.
_LEAST_PIECES = 500
_MAX_CHARACTERS = 2_000  # as much as any encoder reads


class VocabularyReader:
    """Tells how much of a text a tokenizer of the `tokenizers` library reads. Threads may share it.

    The first text that is not plain ASCII costs a pass over the vocabulary: 7 ms at 30,000 pieces, .2 s at 250,000.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._scripts: frozenset[str] | None = None
        unknown = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "<unk>")
        self._is_read: dict[int, bool] = {} if unknown is None else {unknown: False}

    def share_read(self, text: str) -> float:
        """Return the share of a text's letters that are read, from 0 to 1; 1 for a text without letters.

        A text of ASCII alone is read.
        """
        if text.isascii():
            return 1.0
        text = text[:_MAX_CHARACTERS]
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        read, end = bytearray(len(text)), 0
        for token, (first, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if self._reads(token):
                read[first:end] = b"\1" * (end - first)
        letters = [is_read for character, is_read in zip(text[:end], read, strict=False) if character.isalpha()]
        return sum(letters) / len(letters) if letters else 1.0

    def _reads(self, token: int) -> bool:
        """Return whether a token is of a script that the vocabulary has many pieces of."""
        if (is_read := self._is_read.get(token)) is None:
            if self._scripts is None:
                self._scripts = _scripts(self._tokenizer)
            is_read = self._is_read[token] = _script_of(self._tokenizer.decode([token])) in self._scripts
        return is_read


def _scripts(tokenizer: Any) -> frozenset[str]:
    """Return the scripts that a vocabulary has at least _LEAST_PIECES of, and Latin, which all have."""
    ids = range(tokenizer.get_vocab_size())
    if tokenizer.token_to_id("Ġ") is None:
        pieces = map(tokenizer.id_to_token, ids)
    else:  # pieces of bytes, which only decoding shows
        pieces = tokenizer.decode_batch([[token] for token in ids])
    counts = Counter(_script_of(piece) for piece in pieces if piece and not piece.isascii())
    return frozenset({"LATIN", *(name for name, count in counts.items() if name and count >= _LEAST_PIECES)})


def _script_of(piece: str) -> str:
    """Return the script of a piece's first letter; "" where it has none, or is a part of a character."""
    letter = "" if "\ufffd" in piece else next(filter(str.isalpha, piece), "")
    return script(letter) if letter else ""
