"""Open the encoder of a router in memory: the default one, one in a folder, an object, or none."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from router import contract
from router.contract import EncoderManifest, Manifest
from router.encoding.encoder import Encoder, OnnxEncoder, Spans, read_spec
from router.errors import EncoderInvalid, QuartermasterError, SettingsInvalid
from router.fingerprint import fingerprint
from router.snapshot.store.pointer import snapshot_folder

_logger = logging.getLogger("router")


class TextEncoder(Protocol):
    """An object that encodes texts, such as a SentenceTransformer. Every `Encoder` is one."""

    def encode(self, texts: list[str], /) -> object:
        """Return what NumPy makes an array of numbers from: a vector for each text, normalised or not."""
        ...


# The default encoder, the folder of one, an object that encodes, or none.
EncoderChoice = Literal["auto"] | str | Path | TextEncoder | None

_SILENT_TOOLS = 200  # encoded within some seconds: for more, "auto" warns of the wait
_PROBE = "which tool fits this request"
_EXPECTED = '"auto", None, the folder of an exported encoder or of a snapshot, or an object with `encode(texts)`'


@dataclass(frozen=True, slots=True)
class OpenedEncoder:
    """An encoder, and its description for a manifest."""

    encoder: Encoder
    spec: EncoderManifest


def open_encoder(choice: EncoderChoice, tools: int = 0) -> OpenedEncoder | None:
    """Return the chosen encoder; None for None, and for "auto" where the default one is not installed.

    "auto" exports the default encoder where the user has no export of it, and warns of what is missing to do so, and of
    the time that encoding many `tools` takes. Raises SettingsInvalid for any other choice, and
    SnapshotInvalid for a folder whose encoder does not load.
    """
    if choice is None:
        return None
    if isinstance(choice, str) and choice == "auto":
        return _exported(tools)
    if isinstance(choice, str | Path):
        return _from_folder(Path(choice))
    if isinstance(choice, type) or not callable(getattr(choice, "encode", None)):
        raise SettingsInvalid(f"encoder is {choice!r:.80}, it must be {_EXPECTED}")
    encoder = cast(Encoder, choice) if hasattr(choice, "encode_requests") else PlainEncoder(choice)
    vector = encoder.encode_request(_PROBE)
    # An object has no version, so the vector of a fixed text identifies it.
    revision = fingerprint([round(float(component), 4) for component in vector])[:16]
    return OpenedEncoder(encoder, EncoderManifest(type(choice).__qualname__, revision, "", "", len(vector), 0, "fp32"))


def _exported(tools: int) -> OpenedEncoder | None:
    """Return the user's exported encoder; None, with a warning, where there is none or it does not load."""
    try:
        folder = exported_folder()
        if folder is None:
            _warn_of_words_alone()
            return None
        if tools > _SILENT_TOOLS:
            _logger.warning("encoding %s tools, some 20 ms of a core each: encoder=None does without", f"{tools:,}")
        return _from_folder(folder)
    except QuartermasterError as error:
        _logger.warning("the router has only the lexical signals: %s", error)
        return None


def exported_folder() -> Path | None:
    """Return the folder of the default encoder's export, made where it is missing; None where it cannot be made."""
    from pipeline.encoders.default_encoder import find_default_encoder  # late: it may export

    return find_default_encoder(note=_logger.warning)


@cache
def _warn_of_words_alone() -> None:
    """Say, once a process, what to install for vectors. Without logging set up, a warning goes to stderr."""
    from pipeline.encoders.default_encoder import install_default_encoder

    if commands := install_default_encoder():
        _logger.warning(
            "tools in memory are ranked by words alone: no encoder is installed. For vectors, run: %s. "
            "encoder=None silences this",
            commands,
        )


def _from_folder(folder: Path) -> OpenedEncoder:
    if (folder / contract.ENCODER_MODEL).is_file():
        try:
            spec = read_spec(folder)
        except EncoderInvalid as error:
            raise SettingsInvalid(
                f"encoder is {str(folder)!r}, and its export.json does not say how texts are encoded: "
                f"{error.__cause__!r}"
            ) from None
        return OpenedEncoder(OnnxEncoder.open(folder, spec), spec)
    if not (folder / contract.MANIFEST).is_file() and not (folder / contract.CURRENT).is_file():
        raise SettingsInvalid(f"encoder is {str(folder)!r}, which holds no {contract.ENCODER_MODEL}: give {_EXPECTED}")
    snapshot = snapshot_folder(folder)
    stored = Manifest.read(snapshot).encoder
    if stored is None:
        raise SettingsInvalid(f"encoder is {str(folder)!r}: this snapshot was built without an encoder")
    return OpenedEncoder(OnnxEncoder.open(snapshot / contract.ENCODER_FOLDER, stored), stored)


class PlainEncoder:
    """An `Encoder` over an object that only has `encode(texts)`, such as a SentenceTransformer.

    Vectors are normalised, and requests are encoded as tools are.
    """

    def __init__(self, model: TextEncoder) -> None:
        self._model = model

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, float32 (texts, dim), of length 1.

        Raises SettingsInvalid where the object returns anything but one finite vector for each text.
        """
        output = self._model.encode(list(texts))
        try:
            raw = np.asarray(output, np.float32)
        except (TypeError, ValueError) as error:  # texts, or rows of several lengths
            raise SettingsInvalid(f"encoder gave no array of numbers for {len(texts)} texts: {error}") from None
        if raw.ndim != 2 or len(raw) != len(texts) or not raw.shape[1]:
            raise SettingsInvalid(
                f"encoder gave an array of shape {raw.shape} for a list of length {len(texts)}: "
                "it must give a vector for each text"
            )
        if not np.isfinite(raw).all():
            raise SettingsInvalid("encoder gave a vector with a component that is infinite or not a number")
        vectors: NDArray[np.float32] = raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-12)
        return vectors

    def encode_request(self, request: str) -> NDArray[np.float32]:
        """Return the vector of one request, shape (dim,)."""
        vector: NDArray[np.float32] = self.encode([request])[0]
        return vector

    def encode_requests(self, requests: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of requests, float32 (requests, dim)."""
        return self.encode(requests)

    def encode_parts(self, request: str, parts: Sequence[Spans]) -> NDArray[np.float32] | None:
        """Return None: parts of a request are encoded as texts."""
        return None

    def share_read(self, text: str) -> float:
        """Return 1: the object does not tell what it reads."""
        return 1.0
