"""The description of a sentence-transformers model, read from its files without torch."""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.encoders.delta import DELTA_FILE, read_header
from pipeline.encoders.export.checksums import checksums_of
from pipeline.encoders.export.installed import INSTALL_PACKAGED, PACKAGED, check_packaged, packaged_folder
from router.contract import EncoderManifest
from router.errors import EncoderInvalid, quoted
from router.fingerprint import file_sha256, fingerprint

WEIGHTS_FILE = "model.safetensors"
# What bge's English models and E5's need before a request, and before a document: their model cards say so, their files
# do not.
_KNOWN_PREFIXES = (
    ("bge-(?:small|base|large)-en", ("Represent this sentence for searching relevant passages: ", "")),
    ("\\be5-(?:small|base|large)(?!-instruct)", ("query: ", "passage: ")),
)
# Files that are loaded, including those of heads in subfolders.
_WEIGHTS = (".safetensors", ".bin")
_SUFFIXES = (*_WEIGHTS, ".json", ".txt", ".model")


@dataclass(frozen=True, slots=True)
class EncoderModel:
    """A sentence-transformers model on disk, or a delta over one.

    `revision` is a hash of its files; `dim` is the length of a vector; `max_length` is in tokens. With a `delta`, the
    path of its file, all other files are those of its base in `folder`.
    """

    name: str
    folder: Path
    revision: str
    pooling: str
    query_prefix: str
    dim: int
    max_length: int
    delta: Path | None = None
    document_prefix: str = ""

    @property
    def saved_in(self) -> Path:
        """Return the folder that names the model: its delta's, else that of its files."""
        return self.folder if self.delta is None else self.delta.parent

    def spec(self, precision: str) -> EncoderManifest:
        """Return the manifest entry of the model, exported in a precision ("fp32" or "int8")."""
        measures = self.dim, self.max_length
        return EncoderManifest(
            self.name, self.revision, self.pooling, self.query_prefix, *measures, precision, self.document_prefix
        )


def describe_model(
    name: str, folder: Path, query_prefix: str | None = None, fetch: Callable[[str], Path] | None = None
) -> EncoderModel:
    """Describe the model, or the delta, in a folder. `query_prefix` overrides the prefix that its files name.

    `fetch` returns the folder of a delta's base by its name, where that is neither the packaged model nor a folder.
    Raises EncoderInvalid where the files are not those of a sentence encoder, or the base is missing or another.
    """
    if (folder / DELTA_FILE).exists():
        return _describe_delta(name, folder, query_prefix, fetch)
    return _describe(name, folder, query_prefix, _digests(folder))


def _describe(name: str, folder: Path, query_prefix: str | None, digests: Mapping[str, str]) -> EncoderModel:
    """Describe a model of whole weights. `digests` are the checksums of its files by name."""
    config = read_json(folder / "config.json", required=True)
    dim = _dim(config, folder)
    if dim is None or not any(Path(file).suffix in _WEIGHTS and "/" not in file for file in digests):
        raise EncoderInvalid(f"the encoder {folder} holds no weights of a sentence encoder")
    limits = [
        length
        for length in (
            read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
            config.get("max_position_embeddings"),
        )
        if isinstance(length, int)
    ]
    of_requests, of_documents = _prefixes(name, folder)
    return EncoderModel(
        name=_shown(name),
        folder=folder,
        revision=fingerprint([[file, digest] for file, digest in digests.items()])[:16],
        pooling=_pooling(read_json(folder / "1_Pooling" / "config.json"), folder),
        query_prefix=of_requests if query_prefix is None else query_prefix,
        dim=dim,
        max_length=min(limits, default=512),
        document_prefix=of_documents,
    )


def _describe_delta(
    name: str, folder: Path, query_prefix: str | None, fetch: Callable[[str], Path] | None
) -> EncoderModel:
    """Describe a delta: its base, with another name and revision."""
    path = folder / DELTA_FILE
    header = read_header(path)
    base_folder = _base_folder(header.base, folder, fetch)
    if not (base_folder / WEIGHTS_FILE).is_file() or (base_folder / DELTA_FILE).exists():
        raise EncoderInvalid(
            f"{path} is a delta over {quoted(header.base)}, and {base_folder} is no model with a {WEIGHTS_FILE} and "
            "without a delta: train it again over such a base"
        )
    digests = _digests(base_folder)
    if (found := digests[WEIGHTS_FILE]) != header.base_weights:
        raise EncoderInvalid(
            f"{path} is a delta over {quoted(header.base)} with the weights {header.base_weights[:12]}…, and those in "
            f"{base_folder} are {found[:12]}…: install the base that it was trained over, or train it over this one"
        )
    base = _describe(header.base, base_folder, query_prefix, digests)
    if query_prefix is None and header.query_prefix is not None:
        base = replace(base, query_prefix=header.query_prefix)
    revision = fingerprint([base.revision, file_sha256(path)])[:16]
    return replace(base, name=_shown(name), revision=revision, delta=path)


def _digests(folder: Path) -> dict[str, str]:
    """Return the checksums of a model's files, by their sorted paths in its folder."""
    read_json(folder / "config.json", required=True)  # any other folder may hold gigabytes
    files = sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    digests = {path.relative_to(folder).as_posix(): digest for path, digest in checksums_of(files).items()}
    check_packaged(folder, digests)
    return digests


def _base_folder(base: str, folder: Path, fetch: Callable[[str], Path] | None) -> Path:
    """Return the folder of a delta's base: the packaged model, a path from its own, or what `fetch` finds."""
    if base == PACKAGED:
        packaged = packaged_folder()
        if packaged is None:
            raise EncoderInvalid(f"{folder} is a delta over {PACKAGED}, which is not installed: {INSTALL_PACKAGED}")
        return packaged
    if os.path.isdir(folder / base):  # false for names that no path can have
        return folder / base
    if fetch is None:
        raise EncoderInvalid(f"{folder} is a delta over {quoted(base)}, which is no folder here")
    return fetch(base)


def _shown(name: str) -> str:
    """Return a model's name as people read it: of a folder, its last part."""
    return Path(name).name if Path(name).is_dir() else name


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


def _prefixes(name: str, folder: Path) -> tuple[str, str]:
    """Return what is put before requests and before documents: as the model's files say, else as is known of it."""
    known = f"{name} {read_json(folder / 'config.json').get('_name_or_path', '')}"
    prefixes = (both for pattern, both in _KNOWN_PREFIXES if re.search(pattern, known, re.IGNORECASE))
    request, document = next(prefixes, ("", ""))
    said = read_json(folder / "config_sentence_transformers.json").get("prompts")
    prompts = {key: text for key, text in said.items() if isinstance(text, str)} if isinstance(said, dict) else {}
    return prompts.get("query") or request, prompts.get("document") or prompts.get("passage") or document
