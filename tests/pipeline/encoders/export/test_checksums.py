"""The checksum of a model's large file is computed once, until the file is another."""

import os
from pathlib import Path

import pytest

from pipeline.encoders.export import checksums
from pipeline.encoders.export.checksums import checksums_of
from router.fingerprint import file_sha256

LARGE = 1 << 20


@pytest.fixture
def computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read, in order."""
    read: list[str] = []
    monkeypatch.setenv("QUARTERMASTER_CACHE", str(tmp_path / "cache"))

    def counted(path: Path) -> str:
        read.append(path.name)
        return file_sha256(path)

    monkeypatch.setattr(checksums, "file_sha256", counted)
    return read


def test_a_large_file_is_read_once_a_small_one_each_time(tmp_path: Path, computed: list[str]) -> None:
    large, small = tmp_path / "large", tmp_path / "small"
    large.write_bytes(bytes(LARGE))
    small.write_bytes(b"small")
    expected = {large: "30e14955ebf1352266dc2ff8067e68104607e750abb9d3b36582b8af909fcb58", small: file_sha256(small)}
    for _ in range(3):
        assert checksums_of([large, small]) == expected
    assert computed == ["large", "small", "small", "small"]


def test_another_content_of_the_same_size_and_time_is_read_anew(tmp_path: Path, computed: list[str]) -> None:
    large = tmp_path / "large"
    large.write_bytes(bytes(LARGE))
    before, times = checksums_of([large]), large.stat()
    large.write_bytes(b"\1" * LARGE)
    os.utime(large, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert checksums_of([large]) != before
    assert computed == ["large", "large"]


def test_without_its_memory_or_with_a_damaged_one_it_computes_all_and_forgets_what_is_gone(
    tmp_path: Path, computed: list[str]
) -> None:
    large, gone, memory = tmp_path / "large", tmp_path / "gone", tmp_path / "cache" / "encoders" / "checksums.json"
    large.write_bytes(bytes(LARGE))
    gone.write_bytes(bytes(LARGE))
    found = checksums_of([large])
    checksums_of([gone])
    gone.unlink()
    memory.write_text('{"a": [1]}', encoding="utf-8")
    assert checksums_of([large]) == found
    assert str(large) in memory.read_text(encoding="utf-8") and str(gone) not in memory.read_text(encoding="utf-8")
    memory.unlink()
    memory.parent.rmdir()
    memory.parent.write_text("no folder", encoding="utf-8")
    assert checksums_of([large]) == found
    assert computed == ["large", "gone", "large", "large"]
