"""Cut data into chunks where its content says so: equal content gives equal chunks, wherever it stands in a file."""

from collections.abc import Iterator

import numpy as np

# A chunk ends after any eight bytes whose product with an odd number begins with the bits of _MARK: one place of 2,048.
# The mark is not zero, which the product of eight zeros is.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(53)
_MARK = np.uint64(0x5A5)
_WINDOW = 8
LEAST, MOST = 1 << 9, 1 << 16  # bytes of a chunk
_BLOCK = 1 << 16  # bytes looked at in one step: its products stay in the processor's cache


def chunks(data: memoryview) -> Iterator[tuple[int, int]]:
    """Return start and end of each chunk, in order; together they are all of the data."""
    start = 0
    for end in _marked(data):
        while end - start > MOST:
            yield start, start + MOST
            start += MOST
        if end - start >= LEAST:
            yield start, end
            start = end
    for cut in range(start, len(data), MOST):
        yield cut, min(cut + MOST, len(data))


def _marked(data: memoryview) -> Iterator[int]:
    """Return the ends of the windows that are marked."""
    for start in range(0, len(data) - _WINDOW + 1, _BLOCK):
        block = data[start : start + _BLOCK + _WINDOW - 1]
        # A window starts at every byte, so the numbers overlap.
        windows = np.ndarray((len(block) - _WINDOW + 1,), np.dtype("<u8"), block, strides=(1,))
        for place in np.flatnonzero((windows * _FACTOR) >> _SHIFT == _MARK).tolist():
            yield start + place + _WINDOW
