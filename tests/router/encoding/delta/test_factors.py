"""A delta's numbers as they were written, and files of strangers refused with what is wrong."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from router.encoding.delta import (
    CHECKSUMS_FILE,
    DELTA_FILE,
    Delta,
    read_delta,
    write_checksums,
)
from router.errors import EncoderInvalid
from tests.router.encoding.delta.written import HEADER, SHAPES, factors, saved


def test_a_delta_is_read_as_it_was_written(tmp_path: Path) -> None:
    delta = read_delta(saved(tmp_path))
    assert delta.header == HEADER
    assert {name: [half.tolist() for half in pair] for name, pair in delta.factors.items()} == {
        name: [half.tolist() for half in pair] for name, pair in factors().items()
    }


def test_a_change_is_the_scaled_product_of_its_factors(tmp_path: Path) -> None:
    changes = dict(read_delta(saved(tmp_path)).changes(SHAPES))
    for name, (down, up) in factors().items():
        assert changes[name].dtype == np.float32
        assert np.allclose(changes[name], 2 * up.astype(float) @ down.astype(float), atol=1e-5)


def test_equal_deltas_give_equal_files(tmp_path: Path) -> None:
    files = []
    for number in range(5):  # the library alone would order the metadata at random
        folder = tmp_path / str(number)
        folder.mkdir()
        files.append(saved(folder).read_bytes())
    assert len(set(files)) == 1


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


def test_factors_of_a_gigantic_product_are_refused_by_the_bases_shape() -> None:
    wide = np.ones((1, 1_000_000), np.float16)
    delta = Delta(Path("delta.safetensors"), HEADER, {"layer.out": (wide, wide.T)})  # 4 TB
    with pytest.raises(EncoderInvalid, match="1000000"):
        next(delta.changes(SHAPES))


def with_tensors(path: Path, tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Write a file as a stranger may, with a checksum that is right."""
    from safetensors.numpy import save_file

    save_file(dict(tensors), path, dict(HEADER.metadata() if metadata is None else metadata))
    write_checksums(path.parent)


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


@pytest.mark.parametrize(("tensors", "said"), STRANGE_TENSORS, ids=[said for _, said in STRANGE_TENSORS])
def test_tensors_that_are_no_factors_are_refused(tmp_path: Path, tensors: dict[str, Any], said: str) -> None:
    with_tensors(tmp_path / DELTA_FILE, tensors)
    with pytest.raises(EncoderInvalid, match=said) as raised:
        read_delta(tmp_path / DELTA_FILE)
    assert str(tmp_path / DELTA_FILE) in str(raised.value) and "fetch the folder again" in str(raised.value)


STRANGE_METADATA = [
    ({}, "'' for format_version"),
    ({"format_version": "2"}, "format version '2', this Quartermaster reads 1"),
    ({"base": ""}, "'' for base"),
    ({"base": "b" * 5_000}, "for base"),
    ({"base_weights": "../weights"}, "must be a sha256"),
    ({"scale": "nan"}, "'nan' for scale"),
    ({"scale": "-2"}, "'-2' for scale"),
    ({"scale": "1e30"}, "at most 1024"),
    ({"scale": "two"}, "'two' for scale"),
    ({"rank": "0"}, "'0' for rank"),
    ({"rank": "1e9"}, "'1e9' for rank"),
    ({"rank": "1.5"}, "whole number"),
    ({"query_prefix": "q" * 5_000}, "query_prefix of 5,000 characters"),
]


@pytest.mark.parametrize(("change", "said"), STRANGE_METADATA, ids=[said for _, said in STRANGE_METADATA])
def test_metadata_that_says_nothing_usable_is_refused(tmp_path: Path, change: dict[str, str], said: str) -> None:
    with_tensors(tmp_path / DELTA_FILE, TENSORS, {**HEADER.metadata(), **change} if change else {})
    with pytest.raises(EncoderInvalid, match=said):
        read_delta(tmp_path / DELTA_FILE)


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
    with pytest.raises(EncoderInvalid, match=f"sha256.*{CHECKSUMS_FILE} beside it says"):
        read_delta(path)
    write_checksums(tmp_path)
    with pytest.raises(EncoderInvalid, match="cannot be read"):
        read_delta(path)
