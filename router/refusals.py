"""Raise SnapshotInvalid for whatever a library raises over a damaged file, panics of libraries in Rust too."""

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def damage_refused(sentence: str) -> Iterator[None]:
    """Raise SnapshotInvalid, with a sentence and the cause, for DAMAGE and panics inside the block."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, DAMAGE) and not is_panic(error):
            raise
        raise SnapshotInvalid(f"{sentence}: {described(error)}") from error


def described(error: BaseException) -> str:
    """Return the words of an error; its kind where it has none, or where it is not a library's sentence."""
    words = " ".join(str(error).split())
    return words if words and isinstance(error, OSError | ValueError) else f"{type(error).__name__}: {words}"
