"""The dense list counts as far as the encoder reads the request, and an explanation says how far."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from quartermaster.output.answer import show_diagnosis, show_explanation
from router import Router
from router.query.steps import find_steps
from router.search.search import encode_with_steps
from router.snapshot.cached_encoder import CachedEncoder
from router.snapshot.memory import snapshot_from_records
from router.snapshot.memory.encoders import open_encoder
from tests.support.factories import make_record
from tests.support.fake_encoder import FakeEncoder

REQUEST, SAID = "请 rotate 图片", "dense: read 12 % of the request"
TOOLS = [{"name": name, "description": f"{name.title()}s a picture."} for name in ("crop", "rotate", "scale", "trim")]


class Outvoting(FakeEncoder):
    """Finds every request nearest to the tool "crop", and reads 12 % of those that are not ASCII."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        near = [[1.0, 0.0] if "rop" in text or not text.isascii() else [0.0, 1.0] for text in texts]
        return np.array(near, np.float32)

    def share_read(self, text: str) -> float:
        return 1.0 if text.isascii() else 0.12


@pytest.fixture(scope="module")
def router() -> Router:
    return Router.from_tools(TOOLS, encoder=Outvoting())


def test_words_decide_where_the_encoder_reads_little_of_the_request(router: Router) -> None:
    default = router.recipe("default")
    assert router.route(REQUEST, recipe=default).ids[0] == "rotate"
    assert router.route(REQUEST, recipe=replace(default, weigh_by_share_read=False)).ids[0] == "crop"


def test_every_explanation_says_how_much_was_read(router: Router, capsys: pytest.CaptureFixture[str]) -> None:
    show_explanation(explained := router.route(REQUEST, explain=True))
    show_diagnosis(router, router.diagnose(REQUEST, "crop"))
    assert capsys.readouterr().out.count(SAID) == 2
    assert explained.notes == (SAID,)
    assert router.route(REQUEST).notes == router.route(REQUEST, explain=True, recipe="published").notes == ()
    assert router.route("rotate a picture", explain=True).notes == ()


def test_each_step_counts_by_what_is_read_of_it_behind_a_cache_too() -> None:
    encoder = open_encoder(CachedEncoder(Outvoting(), 9))
    snapshot = snapshot_from_records([make_record("crop", "images")], {}, encoder)
    request = "rotate the picture of my cat, then send it to 李明 by mail"
    steps = find_steps(request)
    queries = encode_with_steps(snapshot, request, steps, snapshot.recipe)
    assert [query.share_read for query in queries] == [0.12, 1.0, 0.12]
