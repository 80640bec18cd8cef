"""What a delta's folder must hold beside it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from router.encoding.delta import CHECKSUMS_FILE, read_checksums, read_header, write_checksums
from router.errors import EncoderInvalid
from tests.router.encoding.delta.written import saved


def test_checksums_are_those_that_sha256sum_reads(tmp_path: Path) -> None:
    path = saved(tmp_path)
    (tmp_path / "README.md").write_text("text", encoding="utf-8")
    write_checksums(tmp_path)
    assert list(read_checksums(tmp_path)) == ["README.md", path.name]
    subprocess.run(["sha256sum", "--check", "--strict", CHECKSUMS_FILE], cwd=tmp_path, check=True, capture_output=True)


def listed(text: str) -> Callable[[Path], object]:
    return lambda path: (path.parent / CHECKSUMS_FILE).write_text(text, encoding="utf-8")


def become_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda path: (path.parent / CHECKSUMS_FILE).unlink(), rf"{CHECKSUMS_FILE}.*Fetch the folder again"),
        (listed(f"{'0' * 64}  other.safetensors\n"), "says none"),
        (listed("no checksum\n"), CHECKSUMS_FILE),
        (listed(f"{'0' * 63}  delta.safetensors\n"), CHECKSUMS_FILE),
        (listed("\x00" * 70_000), CHECKSUMS_FILE),
        (become_a_pipe, "no regular file"),
        (lambda path: os.truncate(path, 1 << 30), "1,073,741,824 bytes"),  # sparse
    ],
    ids=["no checksums", "left out", "no checksum", "a short one", "a long file", "a pipe", "larger than any delta"],
)
def test_a_delta_without_a_checksum_of_its_own_is_refused_at_once(
    tmp_path: Path, harm: Callable[[Path], object], says: str
) -> None:
    path = saved(tmp_path)
    harm(path)
    with pytest.raises(EncoderInvalid, match=says):
        read_header(path)
