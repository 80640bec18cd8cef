"""The evaluation as a page: whole in itself, safe whatever it says, its verdict true of its figures."""

import json
import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest

from quartermaster.evaluation import Judgement, ablate, against, ask, figures, worst
from quartermaster.evaluation.abstention import reliability
from quartermaster.output.report import percent, render_report, verdict
from router import Router

HOSTILE = "<script>alert(1)</script> & <img src=x onerror=y> $x^2$ {{ 7*7 }} \u202etxt"


@pytest.fixture(scope="module")
def result(router: Router) -> dict[str, Any]:
    """An evaluation with every part, and a request that is markup."""
    tools = {"undo a payment": "stripe/create_refund", HOSTILE: "slack/<b>", "will it rain": "linear/list_issues"}
    judgements = [
        Judgement(r, r, frozenset({tool}), frozenset({tool}), "single", slice=HOSTILE) for r, tool in tools.items()
    ]
    measured = ask(router, judgements)
    reliable = reliability(measured.scores()[:, 0], measured.scores()[:, 0] > 0)
    no_tool = {"auc": 0.9, "auc_interval": [0.8, 1.0], "refused_at_95": 0.5, "refused": 0.5, "refused_wrongly": 0.0}
    return {
        **figures(measured, HOSTILE),
        "no_tool": no_tool,
        "reliability": reliable,
        "ablation": ablate(measured),
        "against": against(measured, ask(router, judgements, "lexical", whole=False)),
        "worst": worst(measured, 5),
    }


@pytest.fixture(scope="module")
def html(result: dict[str, Any]) -> str:
    return render_report(json.loads(json.dumps(result)))


def test_the_page_loads_nothing_and_runs_nothing(html: str) -> None:
    assert "default-src 'none'" in html
    assert not re.findall(r"<(?:script|link|img|iframe|object|base)\b|<\w[^>]*\ssrc=|@import|url\((?!#)", html)
    assert set(re.findall(r'href="(.)', html)) <= {"#"}


def test_what_requests_and_tools_say_is_text(html: str, result: dict[str, Any]) -> None:
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html and "slack/&lt;b&gt;" in html
    assert "{{ 7*7 }}" in html
    assert "\u202e" not in html and "⟦U+202E⟧txt" in html
    assert render_report(result) == html  # the same evaluation makes the same page


def test_plots_are_well_formed_and_no_id_is_taken_twice(html: str) -> None:
    drawn = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(drawn) == 3
    for svg in drawn:
        texts = " ".join(element.text or "" for element in ElementTree.fromstring(svg).iter() if element.text)
        assert "var(--ink)" in svg and not re.search(r"#0a0[bc]0", svg)
        assert "fused" in texts or "probability" in texts
    twice = [id for id, count in Counter(re.findall(r'\bid="([^"]+)"', html)).items() if count > 1]
    assert twice == []


def test_missed_steps_stand_by_cause_with_examples_and_what_changed(html: str, result: dict[str, Any]) -> None:
    section = html[html.index("<h2>Missed steps by cause") : html.index("<h2>The worst requests")]
    absent = result["causes"]["by_cause"]["absent"]
    assert absent["steps"] == 1 and f"<b>absent</b>: {absent['meaning']}" in section
    assert absent["way_out"] in section and "not ranked" in section
    assert "slack/&lt;b&gt;" in section and "&lt;script&gt;" in section  # the example, which is markup
    assert section.count("<details") == sum(row["steps"] > 0 for row in result["causes"]["by_cause"].values())
    against = re.sub(r' class="[^"]*"', "", html[html.index("<h2>Against") :])
    assert "<th>mended</th><th>broken</th>" in against and "<td>absent</td><td>1</td><td>1</td><td>0</td>" in against


def test_an_evaluation_without_misses_says_so(router: Router) -> None:
    tools = frozenset({"stripe/create_refund"})
    judgement = Judgement("undo a payment", "undo a payment", tools, tools, "single")
    whole = {**figures(ask(router, [judgement], "lexical"), "all"), "ablation": None, "against": None, "worst": []}
    assert "No step is missed." in render_report(whole)


def test_the_page_says_what_it_does_not_know(result: dict[str, Any]) -> None:
    bare = render_report(
        {**result, "no_tool": None, "reliability": None, "ablation": None, "against": None, "worst": []}
    )
    assert "Not measured" in bare and "The worst" not in bare and bare.count("<svg") == 2


METRICS = {"recall@10": 0.96, "hit@1": 0.63, "full@10": 0.9}
INTERVALS = {"recall@10": [0.94, 0.99], "full@10": [0.5, 0.7]}
NO_TOOL = {"auc": 0.714, "auc_interval": [0.61, 0.81], "refused": 0.28, "refused_wrongly": 0.05}


@pytest.fixture
def judged() -> dict[str, Any]:
    def slice_of(queries: int, full: float | None) -> dict[str, Any]:
        return {"queries": queries, "full@10": full, "intervals": INTERVALS}

    return {
        "queries": 251,
        "signals": {"fused": METRICS},
        "intervals": {"fused": INTERVALS},
        "slices": {"tiny": slice_of(9, 0.1), "named": slice_of(80, 0.99), "vague": slice_of(23, 0.6)},
        "by": {"kind": {"single": slice_of(219, 0.9), "none": slice_of(32, None)}},
        "no_tool": NO_TOOL,
    }


def test_the_three_lines_say_what_is_found_where_least_and_what_is_refused(judged: dict[str, Any]) -> None:
    found, weakest, refusals = (line.replace("\u00a0", " ") for line in verdict(judged))
    assert found == (
        "Of 219 requests that a tool answers, 96 % find one among the first 10 (95 % interval 94–99 %), 63 % find it "
        "first. On average, 90 % of a request's steps find a tool there."
    )
    assert weakest.startswith("Weakest: slice 'vague', 23 requests: 60 % of their steps")
    assert "5 % of the answerable requests are refused" in refusals and "0.71 (95 % interval 0.61–0.81" in refusals


def test_what_was_not_judged_is_said_so(judged: dict[str, Any]) -> None:
    none = {"recall@10": None, "hit@1": None, "full@10": None}
    bare = verdict({**judged, "no_tool": None, "slices": {}, "by": {}, "signals": {"fused": none}})
    assert bare[0].startswith("No request that a tool answers was judged")
    assert bare[1].startswith("No slice has 10 judged requests")
    assert bare[2].endswith("no judged request is of kind none.")


def test_no_slice_is_weakest_where_all_are_as_good_as_the_whole(judged: dict[str, Any]) -> None:
    best = {"named": judged["slices"]["named"]}
    assert "is weaker than the whole" in verdict({**judged, "slices": best})[1]


def test_a_share_that_is_not_whole_is_not_called_all_or_nothing() -> None:
    texts = {0.94: "94 %", 1: "100 %", 0.999: "99.9 %", 0.9996: "over 99.9 %", 0.0: "0 %", 0.004: "0.4 %"}
    assert {share: percent(share) for share in texts} == texts and percent(0.0004) == "under 0.1 %"
