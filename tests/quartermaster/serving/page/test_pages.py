"""The pages answer what was asked, and what strangers wrote does nothing on them."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from quartermaster.cli.commands.serve import open_inspection
from quartermaster.serving.page.catalog import excerpt, list_tools
from quartermaster.serving.page.pages import charted_signals, rank_rows
from quartermaster.serving.page.rendering import _ENVIRONMENT, tool_path
from router import FeedbackLog, Router, Selection, Signal, SnapshotInvalid, ToolRecord
from router.record import Kind
from router.retrieval.no_answer_calibration import Calibration
from router.retrieval.score_normalization import BackgroundScores
from router.snapshot.snapshot import Snapshot
from tests.quartermaster.serving.conftest import Ask

REQUEST = "give the customer their money back"


@pytest.fixture(scope="module")
def pages(client_of: Ask, snapshot: Path) -> TestClient:
    return client_of(Router.open(snapshot), open_inspection)


@pytest.fixture(scope="module")
def hostile(client_of: Ask, hostile_folder: Path) -> TestClient:
    return client_of(Router.open(hostile_folder), open_inspection)


def text(client: TestClient, path: str, status: int = 200, **query: Any) -> str:
    response = client.get(path, params=query)
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    return response.text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"k": "0"}, "k is &#39;0&#39;, it must be a whole number from 1 to 128"),
        ({"k": "٣"}, "it must be a whole number"),
        ({"k": "9" * 5_000}, "it must be a whole number"),
        ({"k": "0" * 5_000 + "7000"}, "it must be a whole number"),
        ({"token_budget": "much"}, "token_budget is &#39;much&#39;"),
    ],
)
def test_a_field_that_is_wrong_is_named_and_what_was_filled_in_stays(
    pages: TestClient, fields: dict[str, str], said: str
) -> None:
    page = text(pages, "/", 422, request=REQUEST, **fields)
    assert said in page
    assert f'value="{REQUEST}"' in page


def test_the_shares_of_a_tool_add_up_to_its_score(router: Router) -> None:
    routed = router.route("give the customer their money back, then tell the team in slack", k=4, explain=True)
    signals = charted_signals(routed, router.manifest.signals)
    assert signals == (Signal.NAME, Signal.DESCRIPTION, Signal.EXPANSION, Signal.DENSE)
    for tool in routed:
        rows = rank_rows(tool, signals)
        assert sum(row.share or 0 for row in rows) == pytest.approx(1)
        assert all(row.name == "step" or row.rank == tool.ranks.get(Signal(row.name)) for row in rows)


def test_blank_fields_say_nothing_and_a_request_that_no_tool_fits_is_said_so(pages: TestClient) -> None:
    assert "Try one of these" in text(pages, "/", request="  ")
    page = text(pages, "/", request=REQUEST, k="", recipe="", allow=" , ", token_budget="")
    assert "stripe/create_refund" in page
    assert "No tool of the catalog passes the filters (providers): search" in text(
        pages, "/", request=REQUEST, providers="nobody"
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [("phrases", "Most likely no tool fits."), ("generic", "Perhaps no tool fits (not calibrated for this catalog).")],
)
def test_the_page_is_as_sure_that_none_fits_as_the_calibration_is(
    source: str, said: str, client_of: Ask, snapshot: Path
) -> None:
    opened = Snapshot.open(snapshot)
    statistics = np.stack([np.zeros(8), np.ones(8)]).astype(np.float32)
    rule = Calibration({Signal.EXPANSION: 1.0}, -1.0, 0.999999, 0.05, source)
    refusing = replace(opened, background_scores=BackgroundScores({Signal.EXPANSION: statistics}), calibrations=(rule,))
    page = text(client_of(Router(refusing)), "/", request="an issue for me", recipe="lexical")
    assert said in page
    assert ('<details class="closest" open>' in page) is (source == "generic") and 'class="closest"' in page
    assert ("some tool fits" in page) and ("(not calibrated) ·" in page) is (source == "generic")


def test_no_tool_left_is_not_found_where_the_server_wants_an_error(client_of: Ask, snapshot: Path) -> None:
    selection = Selection(providers=("nobody",), fallback_to_empty=False)
    client = client_of(Router.open(snapshot, selection=selection))
    assert "no tool of the catalog passes the filters (providers)" in text(client, "/", 404, request=REQUEST)
    assert client.get("/readyz").status_code == 200  # as it is for its first request too


def test_a_tools_page_has_its_record_phrases_verdicts_and_neighbours(pages: TestClient) -> None:
    page = text(pages, "/tools/stripe/create_refund")
    for part in ("Refunds a charge in full or in part.", "give the customer their money back", "indexed", "Nearest"):
        assert part in page
    assert 'href="/tools/stripe/list_charges"' in page
    assert '<th scope="row">anthropic</th><td class="number">' in page


def test_a_tool_that_is_not_there_is_said_so(pages: TestClient) -> None:
    assert "has no tool &#39;no/such&#39;" in text(pages, "/tools/no/such", 404)


def test_without_the_inspection_database_a_page_says_so_and_shows_the_record(client_of: Ask, snapshot: Path) -> None:
    def gone(_folder: Path) -> Any:
        raise SnapshotInvalid("catalog.duckdb cannot be opened")

    for inspect, said in ((gone, "catalog.duckdb cannot be opened"), (None, "without access to")):
        page = text(client_of(Router.open(snapshot), inspect), "/tools/stripe/create_refund")
        assert said in page
        assert "Refunds a charge in full or in part." in page
        assert said in text(client_of(Router.open(snapshot), inspect), "/builds")


def test_the_page_of_builds_says_how_each_ended_and_what_it_cost(pages: TestClient) -> None:
    page = text(pages, "/builds")
    assert re.search(r"<td>published <span class=\"dim\">run 1</span></td>\s*<td class=\"number\">\$0\.0000</td>", page)


def test_the_page_of_misses_leads_from_a_judged_request_to_why_its_tool_is_not_found(
    client_of: Ask, snapshot: Path
) -> None:
    opened = Snapshot.open(snapshot)
    missed = [{"request": "<b>pay</b> Ann back", "tools": ["stripe/create_refund"]}]
    evaluation = {"requests": 7, "missed_requests": 3, "missed": missed, "metrics": {}}
    manifest = replace(opened.manifest, evaluation=evaluation)
    page = text(client_of(Router(replace(opened, manifest=manifest)), open_inspection), "/misses")
    assert "The build asked 7 judged requests. Of these, 3 do not find" in page and "the first 1 are shown" in page
    assert "&lt;b&gt;pay" in page and "<b>pay" not in page
    assert 'href="/tools/stripe/create_refund?request=%3Cb%3Epay%3C/b%3E%20Ann%20back#why"' in page
    older = replace(opened, manifest=replace(manifest, evaluation={"requests": 7, "metrics": {}}))
    assert "does not say which of them miss a tool" in text(client_of(Router(older), open_inspection), "/misses")


def test_without_a_judged_request_the_page_of_misses_says_how_to_judge_some_and_to_hear_of_users(
    pages: TestClient, client_of: Ask, snapshot: Path, tmp_path: Path
) -> None:
    page = text(pages, "/misses")
    assert '"required": ["' in page and "judgements.jsonl" in page and "keeps no feedback" in page
    log = FeedbackLog(tmp_path / "feedback")
    assert "writes down what is asked" in text(client_of(Router.open(snapshot, feedback=log)), "/misses")


def test_what_the_checks_left_out_is_shown_over_the_catalog_and_by_check(hostile: TestClient) -> None:
    page = text(hostile, "/left-out")
    (check, *_) = re.findall(r"/left-out\?check=(\w+)", page)
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert f"<p>{check}" in text(hostile, "/left-out", check=check)
    assert "<bdi class" not in text(hostile, "/left-out", check="none")


def test_tools_are_found_by_every_word_of_name_and_description_and_by_provider(pages: TestClient) -> None:
    queries: list[tuple[dict[str, Any], int]] = [
        ({"q": "CREATE"}, 3),
        ({"q": "create", "provider": "Stripe"}, 1),
        ({"q": "PART refunds"}, 1),
        ({"q": "part unheard-of"}, 0),
    ]
    for query, count in queries:
        assert text(pages, "/tools", **query).count('class="tool"') == count, query
    assert "No tool matches." in text(pages, "/tools", q="unheard of")
    for path in ("/", "/tools"):
        counted = r'href="/tools\?provider=linear"[^>]*><bdi>linear</bdi></a> <span class="dim">2</span>'
        assert re.search(counted, text(pages, path))


def test_a_late_match_is_shown_with_the_words_around_it() -> None:
    description = f"{'Lists things. ' * 30}Then refunds them. {'And more. ' * 30}"
    shown = excerpt(description, ["refunds"])
    assert shown.startswith("… ") and "Then refunds them." in shown and shown.endswith(" …")
    assert excerpt(description, ["lists"]).startswith("Lists things.")
    assert excerpt("short", ["none"]) == "short"


def test_of_many_providers_most_are_folded_away() -> None:
    providers: dict[str | None, int] = {f"提供者-{number:04}": 1 for number in range(23)}
    parts: Any = _ENVIRONMENT.get_template("parts.jinja").module
    page = parts.provider_list({**providers, None: 2}, "", first=4, most=20)
    first, _, rest = page.partition("<summary>16 more providers</summary>")
    assert (first.count("<li>"), rest.count("<li>")) == (4, 16)
    assert "and 3 more: type a name" in rest and "2 tools name no provider" in rest


def test_a_large_catalog_is_read_part_by_part_and_a_providers_tools_are_found_however_far_down(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quartermaster.serving.page.catalog._MAX_READ", 3)
    found: list[str] = []
    after: str | None = ""
    pages = 0
    while after is not None:
        page = list_tools(router, "create", "", after)
        found += [record.tool_id for record, _ in page.tools]
        after, pages = page.next_after, pages + 1
        assert page.complete == (after is None)
    assert (pages, found) == (3, ["github/create_issue", "linear/create_issue", "stripe/create_refund"])
    monkeypatch.setattr("quartermaster.serving.page.catalog._MAX_READ", 1)
    assert [record.provider for record, _ in list_tools(router, "", "STRIPE", "").tools] == ["stripe"]


def test_no_tool_is_left_out_between_two_pages(router: Router, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quartermaster.serving.page.catalog.PAGE_SIZE", 3)
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = list_tools(router, "", "", after)
        found += [record.tool_id for record, _ in page.tools]
        after = page.next_after
    assert found == sorted(tool.tool_id for tool in router.tools)


def test_what_strangers_wrote_is_text(hostile: TestClient) -> None:
    ids = [tool["tool_id"] for tool in hostile.get("/v1/tools").json()["tools"]]
    assert ids == ['"><img src=x onerror=alert(1)>', "../../healthz"]
    why = [f"{path}?request=refund" for path in map(tool_path, ids)]
    paths = ("/tools", "/?request=refund", *map(tool_path, ids), "/", *why)
    bodies = [text(hostile, path) for path in paths]
    for body in bodies:
        assert "<script" not in body and "<img" not in body and "onerror=alert(1)>" not in body.replace("&gt;", "")
        assert 'href="javascript' not in body
        assert "\u202e" not in body and "\0" not in body
        assert len(body) < 60_000, "a megabyte of description is cut"
    assert "⟦U+202E⟧" in bodies[2]
    assert "{{ 7 * 7 }}" in bodies[2]
    assert "&lt;script&gt;" in bodies[2]


def test_a_form_repeats_what_it_was_sent_as_text(pages: TestClient) -> None:
    attack = '"><script>alert(1)</script>'
    for path, fields in (
        ("/", ("request", "allow", "k")),
        ("/tools", ("q", "provider")),
        ("/tools/stripe/create_refund", ("request",)),
    ):
        for name in fields:
            response = pages.get(path, params={"request": "x", name: attack})
            assert "<script" not in response.text, (path, name)


def test_the_style_sheet_and_every_page_load_nothing_from_elsewhere(pages: TestClient) -> None:
    sheet = pages.get("/style.css")
    assert sheet.headers["Content-Type"].startswith("text/css")
    assert "url(" not in sheet.text and "@import" not in sheet.text
    tool = "/tools/stripe/create_refund"
    for path in ("/", "/?request=refund", "/tools", tool, f"{tool}?request=refund"):
        body = text(pages, path)
        assert "http://" not in body and "https://" not in body
        assert "<script" not in body and " style=" not in body


TEA = ToolRecord(
    "own/tea", "own", "tea", "Make tea for a guest.", kind=Kind.SKILL, instructions="Boil <b>water</b>.\n\nWait."
)
CUP = ToolRecord("own/cup", "own", "cup", "Fetch a cup for tea.")


@pytest.fixture(scope="module")
def client(client_of: Ask) -> TestClient:
    return client_of(Router.from_tools([TEA, CUP], encoder=None))


def test_instructions_come_with_the_record_that_is_asked_for_and_not_with_the_list(client: TestClient) -> None:
    skill, tool = client.get("/v1/tools/own/tea").json(), client.get("/v1/tools/own/cup").json()
    assert (skill["kind"], skill["instructions"]) == ("skill", TEA.instructions)
    assert not {"kind", "instructions"} & tool.keys()
    listed = client.get("/v1/tools").json()["tools"]
    assert [row.get("kind") for row in listed] == [None, "skill"]
    assert all("instructions" not in row for row in listed)


def test_the_pages_mark_a_skill_filter_by_kind_and_show_what_it_says(client: TestClient) -> None:
    answer = client.get("/", params={"request": "make tea", "kind": "skill"}).text
    assert '<span class="kind">skill</span>' in answer and "its kind is none of: skill" in answer
    assert "<option selected>skill</option>" in answer
    assert client.get("/tools").text.count('<span class="kind">skill</span>') == 1
    page = client.get("/tools/own/tea").text
    assert "<dt>kind</dt><dd>skill</dd>" in page and "Boil &lt;b&gt;water&lt;/b&gt;.\n\nWait." in page
    assert "Instructions" not in client.get("/tools/own/cup").text

    unknown = client.get("/", params={"request": "make tea", "kind": "agent"}).text
    assert "kinds" in unknown and "tool, skill, prompt" in unknown


def test_a_router_in_memory_is_ready_and_says_what_it_is(client: TestClient) -> None:
    status = client.get("/v1/snapshot").json()
    assert (status["catalog"], status["encoder"], status["token_counter"]) == ("memory", None, "estimate")
    assert [client.get(path).status_code for path in ("/readyz", "/metrics", "/")] == [200] * 3


def test_needs_are_a_line_each_and_the_page_says_which_a_tool_serves(pages: TestClient) -> None:
    page = text(pages, "/", request="sort it out", needs="refund a charge\r\nsend a <b>message</b>\n", k="2")
    assert 'aria-label="Needs"' in page and "<li>need 1</li>" in page
    assert "<bdi>send a &lt;b&gt;message&lt;/b&gt;</bdi>" in page and "<b>message" not in page
