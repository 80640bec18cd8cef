"""What the process asks of its system."""

import sys
from pathlib import Path

import pytest

from router.process import return_freed_memory

_MB = 1 << 20


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_freed_memory_goes_back_to_the_system() -> None:
    blocks = [bytearray(4_000) for _ in range(20_000)]  # 80 MB, each too small to be mapped alone
    kept = blocks[::1_000]  # keep the heap from shrinking at its end
    del blocks
    before = resident()
    return_freed_memory()
    assert len(kept) == 20
    assert before - resident() > 40 * _MB
