"""Raise SnapshotInvalid for whatever a library raises over a damaged file, panics of libraries in Rust too."""

from types import TracebackType
from zipfile import BadZipFile

from router.errors import SnapshotInvalid

# What damaged or hostile files have made numpy, Tantivy, tokenizers, msgspec and our own code raise.
DAMAGE = (
    ArithmeticError,
    AttributeError,
    BadZipFile,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)


def is_panic(error: BaseException) -> bool:
    """Return True for a panic of a library in Rust: a BaseException, which `except Exception` lets through."""
    return type(error).__module__ == "pyo3_runtime"


class damage_refused:
    """Raise SnapshotInvalid, with a sentence and the cause, for DAMAGE, panics and `others` inside the block."""

    # As a generator it would take twice as long, and a search by words opens a block for each new word of a request.

    def __init__(self, sentence: str, *others: type[Exception]) -> None:
        self._sentence, self._kinds = sentence, (*DAMAGE, *others)

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and (isinstance(error, self._kinds) or is_panic(error)):
            raise SnapshotInvalid(f"{self._sentence}: {described(error)}") from error


def described(error: BaseException) -> str:
    """Return the words of an error; its kind where it has none, or where it is not a library's sentence."""
    words = " ".join(str(error).split())
    return words if words and isinstance(error, OSError | ValueError) else f"{type(error).__name__}: {words}"
