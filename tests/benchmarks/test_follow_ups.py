"""Dialogues of the demo refuse what no tool fits, and no follow-up: real vectors, real build."""

from pathlib import Path

import pytest

from benchmarks.follow_ups import refused_follow_ups, refused_requests
from pipeline.build import build
from pipeline.settings import load
from router import Router
from tests.support.places import ROOT

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]  # embeds with the encoder that ships
DEMO = ROOT / "catalogs" / "demo"


def test_follow_ups_are_answered_and_what_no_tool_fits_is_refused_nearly_as_often_as_alone(tmp_path: Path) -> None:
    router = Router.open(build(load(DEMO, environment={}), workspace=tmp_path).snapshot)
    follow_ups = refused_follow_ups(router)["follow-ups, judged"]
    assert follow_ups["requests"] == 60 and follow_ups["in the dialogue"] <= 3 < follow_ups["alone"]
    none = refused_requests(router, DEMO, "none")
    assert none["alone"] >= 7 and min(none["after one"], none["after three"]) >= 0.7 * none["alone"]
