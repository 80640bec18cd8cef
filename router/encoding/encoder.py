"""The encoder that turns texts into vectors: ONNX Runtime, one thread, no torch; and the query adapter."""

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from router.contract import ENCODER_MODEL, ENCODER_TOKENIZER, ENCODER_TOKENS, EncoderManifest
from router.encoding.reading import VocabularyReader
from router.errors import EncoderInvalid, SnapshotInvalid
from router.process import delay_forks, silence_onnxruntime
from router.refusals import damage_refused, is_panic

FIRST_RUN_S = 30.0  # what a new encoder may take for one word: thousands of times what one needs
EXPORT_RECORD = "export.json"
_PROBE = "word"

Spans = Sequence[tuple[int, int]]  # character ranges, start to end (exclusive)


class Encoder(Protocol):
    """Turns texts into L2-normalised float32 vectors."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of tools' texts, with the document prefix: shape (len(texts), dim)."""
        ...

    def encode_request(self, request: str) -> NDArray[np.float32]:
        """Return the vector of one request, with the query prefix: shape (dim,)."""
        ...

    def encode_requests(self, requests: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of requests, each as `encode_request` gives it: shape (len(requests), dim)."""
        ...

    def encode_parts(self, request: str, parts: Sequence[Spans]) -> NDArray[np.float32] | None:
        """Return the vectors of a request and of its parts, shape (1 + len(parts), dim).

        A part is one or several character ranges of the request. None where the encoder cannot encode parts in context.
        """
        ...

    def share_read(self, text: str) -> float:
        """Return the share of a text's letters that the encoder reads; 1 where that cannot be told."""
        ...


def import_runtime() -> None:
    """Import ONNX Runtime and the tokenizers, which a router over a lexical snapshot does without."""
    silence_onnxruntime()
    import onnxruntime  # noqa: F401
    import tokenizers  # noqa: F401


class OnnxEncoder:
    """An exported sentence encoder, with its pooling and normalisation inside the graph."""

    def __init__(self, tokenizer: Any, session: Any, spec: EncoderManifest) -> None:
        """Hold a loaded tokenizer and session. Internal: use `open`."""
        self._tokenizer = tokenizer
        self._reader = VocabularyReader(tokenizer)
        self._session = session
        self._query_prefix, self._document_prefix = spec.query_prefix, spec.document_prefix
        self._dim = spec.dim
        # In int8 a vector depends on the texts in its run. See docs/decisions/vectors.md.
        self._batches = spec.precision != "int8"
        self._has_token_vectors = ENCODER_TOKENS in [output.name for output in session.get_outputs()]

    @classmethod
    def open(cls, folder: Path, spec: EncoderManifest, *, threads: int = 1) -> "OnnxEncoder":
        """Load `model.onnx` and `tokenizer.json` from a folder.

        Raises SnapshotInvalid where either cannot be loaded.
        """
        import_runtime()
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        # One thread, not spinning: beside a busy process, two spinning threads cost 12 ms a route, this one 2.7.
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        # Both libraries raise bare Exception subclasses of their own.
        with damage_refused(f"the encoder in {folder} cannot be loaded", Exception):
            tokenizer = Tokenizer.from_file(str(folder / ENCODER_TOKENIZER))
            tokenizer.enable_truncation(spec.max_length)
            padding = tokenizer.padding or {}
            tokenizer.enable_padding(pad_id=padding.get("pad_id", 0), pad_token=padding.get("pad_token", "[PAD]"))
            session = onnxruntime.InferenceSession(
                str(folder / ENCODER_MODEL), options, providers=["CPUExecutionProvider"]
            )
        return cls(tokenizer, session, spec)

    def require_vector(self, deadline_s: float = FIRST_RUN_S) -> None:
        """Encode one word. Raises SnapshotInvalid where that gives no vector, or takes longer than `deadline_s`.

        ONNX Runtime ends a run between two nodes of the graph, also inside a loop.
        """
        import onnxruntime

        options = onnxruntime.RunOptions()
        ended = threading.Timer(deadline_s, setattr, (options, "terminate", True))
        ended.daemon = True
        ended.start()
        try:
            (vectors,) = self._run(["vector"], self.feeds([_PROBE]), options)
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            reason = f"gave no vector within {deadline_s:g} s" if options.terminate else "fails"
            raise SnapshotInvalid(f"the encoder {reason}: {error}") from error
        finally:
            ended.cancel()
        if vectors.shape != (1, self._dim) or vectors.dtype != np.float32 or not np.isfinite(vectors).all():
            raise SnapshotInvalid(
                f"the encoder gave {vectors.dtype} of shape {vectors.shape}, it must be finite float32 of shape "
                f"{(1, self._dim)}"
            )

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of tools' texts, with the model's document prefix: as `encode_as_is` does."""
        return self.encode_as_is([self._document_prefix + text for text in texts])

    def encode_as_is(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, without a prefix: float32 of shape (len(texts), dim).

        Texts are cut at the model's maximum length. In fp32 they are encoded in one run, padded to the longest; in int8
        one after the other.
        """
        if not texts:
            return np.empty((0, self._dim), np.float32)
        runs = [texts] if self._batches else [[text] for text in texts]
        run_vectors = [self._run(["vector"], self.feeds(run))[0] for run in runs]
        vectors: NDArray[np.float32] = run_vectors[0] if len(run_vectors) == 1 else np.concatenate(run_vectors)
        return vectors

    def encode_parts(self, request: str, parts: Sequence[Spans]) -> NDArray[np.float32] | None:
        """Return the vectors of a request and of its parts, float32 of shape (1 + len(parts), dim), from one run.

        A part's vector is the mean of its tokens, which have read the whole request ("late chunking"). None where the
        model does not pool by the mean, or a part lies past its maximum length.
        """
        # See docs/decisions/steps.md.
        if not self._has_token_vectors:
            return None
        text = self._query_prefix + request
        encoding = self._tokenizer.encode(text)
        shift = len(self._query_prefix)
        offsets = np.array(encoding.offsets, np.int64)
        is_text = offsets[:, 1] > offsets[:, 0]  # the others are special tokens
        masks = np.zeros((len(parts), len(offsets)), np.float32)
        for mask, spans in zip(masks, parts, strict=True):
            for first, last in spans:
                # Overlap, not containment: some tokenizers count the space before a word as part of it.
                mask[is_text & (offsets[:, 1] > first + shift) & (offsets[:, 0] < last + shift)] = 1
        if not masks.any(axis=1).all() or max(last for spans in parts for _, last in spans) + shift > offsets.max():
            return None
        vector, tokens = self._run(["vector", ENCODER_TOKENS], _feeds([encoding]))
        pooled = masks @ tokens[0]
        vectors: NDArray[np.float32] = np.concatenate([vector, pooled / np.linalg.norm(pooled, axis=1, keepdims=True)])
        return vectors

    def _run(
        self, outputs: list[str], feeds: dict[str, NDArray[np.int64]], options: Any = None
    ) -> list[NDArray[np.float32]]:
        with delay_forks():
            vectors: list[NDArray[np.float32]] = self._session.run(outputs, feeds, options)
        return vectors

    def feeds(self, texts: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        """Return the model's inputs for texts: token ids and attention mask, int64 of shape (len(texts), tokens)."""
        if len(texts) == 1:
            return _feeds([self._tokenizer.encode(texts[0])])
        return _feeds(self._tokenizer.encode_batch(list(texts)))

    def encode_request(self, request: str) -> NDArray[np.float32]:
        """Return the vector of one request, with the model's query prefix: shape (dim,)."""
        vector: NDArray[np.float32] = self.encode_requests([request])[0]
        return vector

    def encode_requests(self, requests: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of requests, with the model's query prefix: shape (len(requests), dim)."""
        return self.encode_as_is([self._query_prefix + request for request in requests])

    def share_read(self, text: str) -> float:
        """Return the share of a text's letters that the tokenizer leaves whole, in scripts that it knows."""
        return self._reader.share_read(text)


def read_spec(folder: Path) -> EncoderManifest:
    """Return the manifest entry of the export in a folder. Raises EncoderInvalid where it cannot be read."""
    try:
        return EncoderManifest(**json.loads((folder / EXPORT_RECORD).read_text(encoding="utf-8"))["spec"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EncoderInvalid(f"{folder} is not an exported encoder: {error}") from error


def _feeds(encodings: Sequence[Any]) -> dict[str, NDArray[np.int64]]:
    return {
        "input_ids": np.array([e.ids for e in encodings], dtype=np.int64),
        "attention_mask": np.array([e.attention_mask for e in encodings], dtype=np.int64),
    }


def apply_adapter(vectors: NDArray[np.float32], adapter: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return normalize(q + qA): query vectors q of shape (dim,) or (n, dim), a learned map A of shape (dim, dim)."""
    adapted = vectors + vectors @ adapter
    normalized: NDArray[np.float32] = adapted / np.linalg.norm(adapted, axis=-1, keepdims=True)
    return normalized
