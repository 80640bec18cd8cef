"""A sentence encoder small enough to make in a test: real files, real code path, random weights. Written without torch,
which takes 7 s to import: tests that only need an encoder to exist do not pay for it."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_LAYERS, _INNER, _LENGTH = 2, 64, 64
_SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_CHARACTERS = [chr(c) for c in range(33, 127)]
_VOCABULARY = [*_SPECIAL.values(), *_CHARACTERS, *(f"##{c}" for c in _CHARACTERS)]


def save(folder: Path, *, hidden: int = 32, pooling: str = "cls", seed: int = 0) -> Path:
    """Write a BERT of two layers with tokenizer and pooling files; equal seeds give equal weights."""
    from safetensors.numpy import save_file

    (folder / "1_Pooling").mkdir(parents=True)
    random = np.random.default_rng(seed)
    save_file({name: _weights(name, shape, random) for name, shape in _tensors(hidden)}, folder / "model.safetensors")
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": len(_VOCABULARY),
        "hidden_size": hidden,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": 2,
        "intermediate_size": _INNER,
        "max_position_embeddings": _LENGTH,
    }
    _write(folder / "config.json", config)
    _save_tokenizer(folder)
    _write(folder / "modules.json", [_module(0, "", "Transformer"), _module(1, "1_Pooling", "Pooling")])
    _write(folder / "sentence_bert_config.json", {"max_seq_length": _LENGTH, "do_lower_case": False})
    flags = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens"}
    modes = {f"pooling_mode_{flag}": name == pooling for name, flag in flags.items()}
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": hidden, **modes})
    return folder


def vector_settings(folder: Path) -> dict[str, str]:
    """The settings of vectors by a small encoder: in fp32, as they lie so close together that int8 would order them."""
    return {"encoder": str(folder), "precision": "fp32"}


def _tensors(hidden: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The names and shapes of a BERT's weights, as its checkpoints have them."""

    def dense(name: str, outputs: int, inputs: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield f"{name}.weight", (outputs, inputs)
        yield f"{name}.bias", (outputs,)

    def norm(name: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield f"{name}.LayerNorm.weight", (hidden,)
        yield f"{name}.LayerNorm.bias", (hidden,)

    for kind, rows in (("word", len(_VOCABULARY)), ("position", _LENGTH), ("token_type", 2)):
        yield f"embeddings.{kind}_embeddings.weight", (rows, hidden)
    yield from norm("embeddings")
    for layer in range(_LAYERS):
        place = f"encoder.layer.{layer}"
        for part in ("query", "key", "value"):
            yield from dense(f"{place}.attention.self.{part}", hidden, hidden)
        yield from dense(f"{place}.attention.output.dense", hidden, hidden)
        yield from norm(f"{place}.attention.output")
        yield from dense(f"{place}.intermediate.dense", _INNER, hidden)
        yield from dense(f"{place}.output.dense", hidden, _INNER)
        yield from norm(f"{place}.output")
    yield from dense("pooler.dense", hidden, hidden)


def _weights(name: str, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.float32]:
    """As BERT begins its training: normal with deviation .02; norms one, biases zero."""
    if name.endswith(".bias"):
        return np.zeros(shape, np.float32)
    if "LayerNorm" in name:
        return np.ones(shape, np.float32)
    return random.normal(0, 0.02, shape).astype(np.float32)


def _save_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    ids = {piece: place for place, piece in enumerate(_VOCABULARY)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token=_SPECIAL["unk"]))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    ends = [(token, ids[token]) for token in (_SPECIAL["cls"], _SPECIAL["sep"])]
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.add_special_tokens(list(_SPECIAL.values()))
    tokenizer.save(str(folder / "tokenizer.json"))
    tokens = {f"{name}_token": token for name, token in _SPECIAL.items()}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": _LENGTH, **tokens}
    _write(folder / "tokenizer_config.json", config)


def _module(index: int, path: str, kind: str) -> dict[str, object]:
    return {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
