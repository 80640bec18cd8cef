"""What a delta's folder must hold beside it."""

import os
import subprocess
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


def test_a_delta_without_checksums_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    (tmp_path / CHECKSUMS_FILE).unlink()
    with pytest.raises(EncoderInvalid, match=rf"{CHECKSUMS_FILE}.*Fetch the folder again"):
        read_header(path)


def test_a_delta_that_the_checksums_leave_out_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    (tmp_path / CHECKSUMS_FILE).write_text(f"{'0' * 64}  other.safetensors\n", encoding="utf-8")
    with pytest.raises(EncoderInvalid, match="says none"):
        read_header(path)


@pytest.mark.parametrize("text", ["no checksum\n", f"{'0' * 63}  delta.safetensors\n", "\x00" * 70_000])
def test_checksums_of_another_format_are_refused(tmp_path: Path, text: str) -> None:
    path = saved(tmp_path)
    (tmp_path / CHECKSUMS_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(EncoderInvalid, match=CHECKSUMS_FILE):
        read_header(path)


def test_a_pipe_in_the_place_of_a_delta_is_refused_at_once(tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(EncoderInvalid, match="no regular file"):
        read_header(path)


def test_a_file_that_is_larger_than_any_delta_is_not_read(tmp_path: Path) -> None:
    path = saved(tmp_path)
    os.truncate(path, 1 << 30)  # sparse
    with pytest.raises(EncoderInvalid, match="1,073,741,824 bytes"):
        read_header(path)
