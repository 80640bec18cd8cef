"""A delta's numbers as they were written, and folders of strangers refused with what is wrong."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.encoders.delta import (
    CHECKSUMS_FILE,
    DELTA_FILE,
    Delta,
    DeltaHeader,
    read_checksums,
    read_delta,
    write_checksums,
    write_delta,
)
from router.errors import EncoderInvalid

HEADER = DeltaHeader("some-base", "a" * 64, 2.0, 2, "ask: ")
SHAPES = {"layer.query": (3, 4), "layer.out": (4, 3)}


def factors(shapes: Mapping[str, tuple[int, int]] = SHAPES) -> dict[str, tuple[Any, Any]]:
    random = np.random.default_rng(0)
    return {
        name: (random.normal(size=(2, inputs)).astype(np.float16), random.normal(size=(outputs, 2)).astype(np.float16))
        for name, (outputs, inputs) in shapes.items()
    }


def saved(folder: Path, header: DeltaHeader = HEADER) -> Path:
    path = write_delta(folder, header, factors())
    write_checksums(folder)
    return path


def test_a_delta_is_read_as_it_was_written_and_changes_by_the_scaled_product_of_its_factors(tmp_path: Path) -> None:
    delta = read_delta(saved(tmp_path))
    assert delta.header == HEADER
    changes = dict(delta.changes(SHAPES))
    for name, (down, up) in factors().items():
        assert [half.tolist() for half in delta.factors[name]] == [down.tolist(), up.tolist()]
        assert changes[name].dtype == np.float32
        assert np.allclose(changes[name], 2 * up.astype(float) @ down.astype(float), atol=1e-5)


def test_equal_deltas_give_equal_files(tmp_path: Path) -> None:
    # The library alone would order the metadata at random.
    assert len({saved(tmp_path).read_bytes() for _ in range(5)}) == 1


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"layer.query": (3, 4)}, r"'layer\.out' of shape \(4, 3\), which does not exist in the base 'some-base'"),
        ({**SHAPES, "layer.out": (4, 5)}, r"'layer\.out' of shape \(4, 3\), which has the shape \(4, 5\)"),
    ],
)
def test_a_map_that_the_base_has_not_is_refused_before_anything_is_multiplied(
    tmp_path: Path, shapes: dict[str, tuple[int, int]], said: str
) -> None:
    with pytest.raises(EncoderInvalid, match=said):
        next(read_delta(saved(tmp_path)).changes(shapes))
    wide = np.ones((1, 1_000_000), np.float16)
    delta = Delta(Path("delta.safetensors"), HEADER, {"layer.out": (wide, wide.T)})  # 4 TB
    with pytest.raises(EncoderInvalid, match="1000000"):
        next(delta.changes(SHAPES))


def half(*shape: int, value: float = 1.0) -> Any:
    return np.full(shape, value, np.float16)


TENSORS = {"a.down": half(2, 4), "a.up": half(3, 2)}
STRANGE_TENSORS = [
    ({}, "must have '<map>.down'"),
    ({**TENSORS, "b.down": half(2, 4)}, "a map without one of them"),
    ({**TENSORS, "a.bias": half(3)}, "it has 'a.bias'"),
    ({**TENSORS, "down": half(2, 4)}, "it has 'down'"),
    ({**TENSORS, "a.up": half(3, 2).astype(np.float32)}, "'a.up' as 'F32', it must be F16"),
    ({**TENSORS, "a.up": half(3, 1)}, r"shapes \(2, 4\) and \(3, 1\)"),
    ({**TENSORS, "a.up": half(3, 2, 1)}, r"\(3, 2, 1\)"),
    ({"a.down": half(3, 4), "a.up": half(3, 3)}, "rank of at most 2"),
    ({"a.down": half(0, 4), "a.up": half(3, 0)}, r"\(0, 4\)"),
    ({**TENSORS, "a.up": half(3, 2, value=np.nan)}, "'a' that is not finite"),
    ({**TENSORS, "a.down": half(2, 4, value=np.inf)}, "'a' that is not finite"),
]
STRANGE_METADATA = [
    ({}, "'' for format_version"),
    ({"format_version": "2"}, "format version '2', this Quartermaster reads 1"),
    ({"base": ""}, "'' for base"),
    ({"base": "b" * 5_000}, "for base"),
    ({"base_weights": "../weights"}, "must be a sha256"),
    ({"scale": "nan"}, "'nan' for scale"),
    ({"scale": "-2"}, "'-2' for scale"),
    ({"scale": "1e30"}, "at most 1024"),
    ({"rank": "0"}, "'0' for rank"),
    ({"rank": "1e9"}, "'1e9' for rank"),
    ({"rank": "1.5"}, "whole number"),
    ({"query_prefix": "q" * 5_000}, "query_prefix of 5,000 characters"),
]
STRANGE = [
    *((tensors, HEADER.metadata(), said) for tensors, said in STRANGE_TENSORS),
    *((TENSORS, {**HEADER.metadata(), **change} if change else {}, said) for change, said in STRANGE_METADATA),
]


@pytest.mark.parametrize(("tensors", "metadata", "said"), STRANGE, ids=[said for *_, said in STRANGE])
def test_a_strangers_file_with_a_right_checksum_is_refused_with_what_is_wrong(
    tmp_path: Path, tensors: dict[str, Any], metadata: Mapping[str, str], said: str
) -> None:
    from safetensors.numpy import save_file

    save_file(tensors, tmp_path / DELTA_FILE, dict(metadata))
    write_checksums(tmp_path)
    with pytest.raises(EncoderInvalid, match=said) as raised:
        read_delta(tmp_path / DELTA_FILE)
    assert str(tmp_path / DELTA_FILE) in str(raised.value)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def lengthen_header(path: Path) -> None:
    path.write_bytes((1 << 60).to_bytes(8, "little") + path.read_bytes()[8:])


def reach_out(path: Path) -> None:
    """Let a tensor's bytes lie beyond the file."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + size])
    head["layer.out.up"]["data_offsets"] = [0, 1 << 40]
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])


@pytest.mark.parametrize("damage", [cut, lengthen_header, reach_out, lambda path: path.write_bytes(b"")])
def test_a_damaged_file_is_refused_by_its_checksum_and_without_one(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    path = saved(tmp_path)
    damage(path)
    with pytest.raises(EncoderInvalid, match=f"sha256.*{CHECKSUMS_FILE} beside it says.*fetch the folder again"):
        read_delta(path)
    write_checksums(tmp_path)
    with pytest.raises(EncoderInvalid, match="cannot be read"):
        read_delta(path)


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
        (become_a_pipe, "not a regular file"),
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
        read_delta(path)
