"""Reranking by a cross-encoder: in the gate by a library in its place, at night by sentence-transformers' own."""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from router.answer.reranking import cross_encoder, rerank
from router.errors import SettingsInvalid
from tests.support.small_cross_encoder import save

REQUEST = "give the money back"
TEXTS = ["stripe create refund.", "linear create issue.", "slack post message.", "weather get forecast."]


class Lengths:
    """What `sentence_transformers.CrossEncoder` does, with scores that can be told beforehand."""

    def __init__(self, model: str, *, local_files_only: bool, trust_remote_code: bool, **_: Any) -> None:
        assert local_files_only and not trust_remote_code
        if model == "gone":
            raise OSError("no such model\nand more")
        self.config = SimpleNamespace(num_labels=3 if model == "three" else 1)

    def predict(self, pairs: Sequence[tuple[str, str]], **_: Any) -> list[float]:
        return [float(len(request) * len(text)) for request, text in pairs]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(CrossEncoder=Lengths))


def test_request_and_text_are_scored_together(library: None) -> None:
    assert rerank(cross_encoder("one"), "ab", ["c", "def"]).scores == (6.0, 2.0)


def test_what_is_no_cross_encoder_is_named_and_not_fetched(library: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsInvalid, match="'three' gives 3 labels for a pair, it must give one score"):
        cross_encoder("three")
    with pytest.raises(SettingsInvalid, match=r"'gone' is not a model's folder.*download=True.*: no such model$"):
        cross_encoder("gone")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(SettingsInvalid, match=r"pip install '.*\[rerank\]'"):
        cross_encoder("one")


@pytest.mark.nightly
def test_a_real_model_orders_by_its_own_scores_and_threads_share_it(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    folder = save(tmp_path / "small")
    own = CrossEncoder(str(folder)).predict([(REQUEST, text) for text in TEXTS])
    scorer = cross_encoder(folder)
    found = rerank(scorer, REQUEST, TEXTS)
    assert list(found.order) == sorted(range(4), key=lambda place: -own[place]) != list(range(4))
    assert found.scores == pytest.approx(sorted(own, reverse=True))
    requests = [f"{REQUEST} {number}" for number in range(8)]
    alone = [rerank(scorer, request, TEXTS) for request in requests]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda request: rerank(scorer, request, TEXTS), requests)) == alone
    for absent in ("nobody/no-such-model", str(tmp_path)):
        with pytest.raises(SettingsInvalid, match=f"'{absent}' is not a model's folder.*download=True"):
            cross_encoder(absent)
    with pytest.raises(SettingsInvalid, match="3 labels for a pair"):
        cross_encoder(save(tmp_path / "three", labels=3))
