"""Parts of a request encoded by one run of the model, from the tokens that it gives."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.encoders.export import ExportCache, cache_folder
from pipeline.progress import SilentProgress
from pipeline.settings import VectorSettings
from pipeline.vectors import ReferenceEncoder, export_encoder, resolve_encoder
from router import Router
from router.encoding.encoder import OnnxEncoder
from router.query.steps import find_steps
from router.snapshot.snapshot import Snapshot
from tests.support.small_encoder import save


def encoder(tmp_path: Path, pooling: str = "mean", precision: str = "fp32", prefix: str = "") -> OnnxEncoder:
    folder = save(tmp_path / f"{pooling}-{precision}", pooling=pooling)
    model = resolve_encoder(VectorSettings(encoder=str(folder), query_prefix=prefix), SilentProgress())
    assert model is not None
    made = export_encoder(model, precision, ReferenceEncoder(model, 8), ExportCache([cache_folder()]))
    return OnnxEncoder.open(made.folder, made.spec)


@pytest.mark.parametrize("prefix", ["", "q: "])
def test_a_part_is_the_normalised_mean_of_its_own_tokens_after_the_requests_vector(tmp_path: Path, prefix: str) -> None:
    opened = encoder(tmp_path, prefix=prefix)
    # Each character is a token of the small encoder; its first is [CLS].
    tokens = opened._session.run(["tokens"], opened.feeds([f"{prefix}ab cd, ef"]))[0][0][len(prefix.replace(" ", "")) :]
    vectors = opened.encode_parts("ab cd, ef", [[(0, 5)], [(7, 9)], [(0, 2), (7, 9)]])
    assert vectors is not None and vectors.shape == (4, 32)
    assert vectors[0] == pytest.approx(opened.encode_request("ab cd, ef"), abs=1e-6)
    for vector, rows in zip(vectors[1:], ([1, 2, 3, 4], [6, 7], [1, 2, 6, 7]), strict=True):
        mean = tokens[rows].mean(axis=0)
        assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_a_part_past_the_models_length_or_of_another_pooling_cannot_be_told(tmp_path: Path) -> None:
    opened, request = encoder(tmp_path), "ab " * 60
    assert opened.encode_parts(request, [[(0, 5)]]) is not None
    assert opened.encode_parts(request, [[(0, 5)], [(170, 178)]]) is None
    assert opened.encode_parts(request, [[(0, 178)]]) is None
    assert encoder(tmp_path, pooling="cls").encode_parts("ab cd", [[(0, 2)]]) is None


def test_the_spans_of_steps_are_their_texts() -> None:
    steps = find_steps('  "Pull the failed   payments from Stripe,\n then file a ticket in Linear."  ')
    assert len(steps) == 2
    assert [" ".join(steps.request[first:last] for first, last in spans) for spans in steps.spans] == list(steps.texts)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_vector_does_not_hang_on_the_texts_or_requests_beside_it(
    tmp_path: Path, snapshot: Path, precision: str
) -> None:
    made = encoder(tmp_path, precision=precision)
    together = made.encode(["ab", "a much longer text, with other numbers in it"])
    alone = made.encode(["ab"])[0]
    assert together[0] == pytest.approx(alone, abs=1e-6 if precision == "fp32" else 0)
    assert made.encode([]).shape == made.encode_requests([]).shape == (0, 32)
    router = Router(replace(Snapshot.open(snapshot), encoder=made))
    # Short enough for the small encoder, whose tokens are characters, to read whole.
    requests = [
        "pull payments from Stripe, file a ticket in Linear",
        "get the payments of Stripe, file a ticket in Linear",
    ]
    many = router.route_many(requests)
    assert all(answer.steps for answer in many)
    assert [answer.ids for answer in many] == [router.route(request).ids for request in requests]
