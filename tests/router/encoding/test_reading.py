"""How much of a text is read, by tokenizers of four kinds whose vocabularies know few or many pieces of a script."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from router.encoding.reading import VocabularyReader

CHINESE = [chr(0x4E00 + n) for n in range(600)]  # 一丁丂…
KNOWN, ALSO, RARE = CHINESE[0], CHINESE[599], "龍"
ENGLISH = ["find", "the", "file", "##s", "in", "x"]
_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def wordpiece(pieces: Sequence[str]) -> VocabularyReader:
    """Knows [UNK] only as its model's unknown token, not as a special one."""
    vocabulary = {piece: place for place, piece in enumerate(["[UNK]", *ENGLISH, *pieces])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return VocabularyReader(tokenizer)


def sentencepiece(pieces: Sequence[str]) -> VocabularyReader:
    """Cuts an unknown character into bytes."""
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    scored = [(piece, -1.0) for piece in ["<unk>", "▁", *(f"▁{word}" for word in ENGLISH), *pieces, *fallback]]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    return VocabularyReader(tokenizer)


def byte_level(pieces: Sequence[str]) -> VocabularyReader:
    """Has every byte, and merges those of the pieces."""
    merges = []
    for piece in pieces:
        first, *rest = list(_BYTES.pre_tokenize_str(piece)[0][0])
        for byte in rest:
            merges.append((first, byte))
            first += byte
    names = dict.fromkeys([*pre_tokenizers.ByteLevel.alphabet(), *("".join(pair) for pair in merges)])
    tokenizer = Tokenizer(models.BPE({name: place for place, name in enumerate(names)}, list(dict.fromkeys(merges))))
    tokenizer.pre_tokenizer, tokenizer.decoder = _BYTES, decoders.ByteLevel()
    return VocabularyReader(tokenizer)


MAKERS = [wordpiece, sentencepiece, byte_level]
Maker = Callable[[Sequence[str]], VocabularyReader]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_script_is_read_where_the_vocabulary_has_many_pieces_of_it_and_the_character_is_known(maker: Maker) -> None:
    english, multilingual = maker(CHINESE[:200]), maker(CHINESE)
    assert english.share_read(KNOWN * 3) == 0
    assert multilingual.share_read(KNOWN + ALSO) == 1
    assert multilingual.share_read(f"{KNOWN} {ALSO} {ALSO} {RARE}") == 0.75


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 1.0),
        ("x", 1.0),
        ("find qzvw in /tmp/getUserById?id=12#x", 1.0),  # ASCII, whatever the tokenizer makes of it
        ("12 ½ 🎉 →", 1.0),  # no letters
        (KNOWN, 0.0),
        (f"find {KNOWN}", 0.8),
        (f"{KNOWN}{KNOWN} 12 find", 4 / 6),
    ],
)
def test_the_share_is_that_of_the_letters(maker: Maker, text: str, share: float) -> None:
    assert maker([KNOWN]).share_read(text) == pytest.approx(share)


def test_accents_of_latin_words_are_read_though_each_is_one_character() -> None:
    assert byte_level(["é", "ü", "ß"]).share_read("für Größe résumé") == pytest.approx(13 / 14)  # ö is cut into bytes


@given(st.text(max_size=60))
def test_a_share_lies_between_0_and_1_and_is_the_same_each_time(text: str) -> None:
    share = READER.share_read(text)
    assert 0 <= share <= 1
    assert READER.share_read(text) == share


READER = wordpiece(CHINESE)
