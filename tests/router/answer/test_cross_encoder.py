"""Reranking by a real cross-encoder of sentence-transformers, small and saved to disk."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from router.answer.reranking import Scorer, cross_encoder, rerank
from router.errors import SettingsInvalid
from tests.support.small_cross_encoder import save

REQUEST = "give the money back"
TEXTS = ["stripe create refund.", "linear create issue.", "slack post message.", "weather get forecast."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("cross-encoders") / "small")


@pytest.fixture(scope="module")
def scorer(folder: Path) -> Scorer:
    return cross_encoder(folder)


def test_candidates_stand_in_the_order_of_the_models_own_scores(scorer: Scorer, folder: Path) -> None:
    from sentence_transformers import CrossEncoder

    own = CrossEncoder(str(folder)).predict([(REQUEST, text) for text in TEXTS])
    found = rerank(scorer, REQUEST, TEXTS)
    assert list(found.order) == sorted(range(4), key=lambda place: -own[place]) != list(range(4))
    assert found.scores == pytest.approx(sorted(own, reverse=True))


def test_the_request_is_read_together_with_each_text(scorer: Scorer) -> None:
    assert rerank(scorer, REQUEST, TEXTS).scores != rerank(scorer, "will it rain", TEXTS).scores


def test_threads_share_a_model_and_get_the_scores_of_one(scorer: Scorer) -> None:
    requests = [f"{REQUEST} {number}" for number in range(8)]
    alone = [rerank(scorer, request, TEXTS) for request in requests]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda request: rerank(scorer, request, TEXTS), requests)) == alone


def test_a_model_of_several_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="3 labels for a pair, it must give one score"):
        cross_encoder(save(tmp_path / "three", labels=3))


def test_a_model_that_is_not_here_is_named_and_not_fetched() -> None:
    with pytest.raises(SettingsInvalid, match=r"'nobody/no-such-model' is not a model's folder.*download=True"):
        cross_encoder("nobody/no-such-model")


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=str(tmp_path)):
        cross_encoder(tmp_path)


def test_without_sentence_transformers_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(SettingsInvalid, match=r"pip install '.*\[rerank\]'"):
        cross_encoder(folder)
