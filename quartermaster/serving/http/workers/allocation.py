"""Room on the disk for files that are mapped: to write to a page that gets none kills the process with SIGBUS."""

import os


def allocate(descriptor: int, size: int) -> None:
    """Give an empty file so many bytes, all 0, and the blocks of them. Raises OSError where the disk is full."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:  # macOS
        os.truncate(descriptor, size)
