"""A model says what a request needs: from a real server that is well, late, wrong, hostile or gone."""

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pipeline.tokens import TokenCounter
from quartermaster.cli.commands.serve import ServedSource
from quartermaster.needs import INSTRUCTIONS, ModelNeeds
from quartermaster.serving.http import app
from router.errors import SettingsInvalid
from tests.pipeline.enrichment.model_server import ModelServer, Reply, completion
from tests.support.threads import Own
from tests.support.waiting import until

SAID = ("search for a person by name", "send an e-mail")


def needs(*said: object) -> Reply:
    return Reply(completion(json.dumps({"needs": said})))


@contextmanager
def asking(script: Any, **options: Any) -> Iterator[tuple[ModelNeeds, ModelServer]]:
    """A model that is asked, and its server, which answers by a script or always the same."""
    options = {"api_key": "sk-loopback", "timeout_s": 20, **options}
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer((lambda *_: script) if isinstance(script, Reply) else script))
        yield stack.enter_context(closing(ModelNeeds("small", base_url=server.base_url, **options))), server


def seen(model: ModelNeeds) -> dict[str, int]:
    return {name: count for name, count in model.counts.items() if count and "tokens" not in name}


def test_the_instructions_have_300_tokens_at_most() -> None:
    assert 100 < TokenCounter("o200k_base").length(INSTRUCTIONS) <= 300


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"timeout_s": 0}, "timeout_s is 0, it must be a number from 0.001 to 3,600"),
        ({"timeout_s": -1}, "timeout_s is -1, it"),
        ({"timeout_s": float("nan")}, "timeout_s is nan, it"),
        ({"concurrency": 0}, "concurrency is 0, it must be a whole number from 1 up"),
        ({"cache_size": -1}, "cache_size is -1, it must be a whole number from 0 up"),
        (
            {"base_url": "localhost:8000/v1"},
            "base_url is 'localhost:8000/v1', it must be a text that matches ^https?://",
        ),
    ],
)
def test_a_setting_that_cannot_work_is_refused_when_it_is_made(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsInvalid, match=re.escape(said)):
        ModelNeeds("small", **wrong)


def test_the_model_gets_the_request_as_data_and_what_it_writes_is_kept() -> None:
    with asking(needs(*SAID), parameters={"reasoning_effort": "low"}) as (model, server):
        assert [model("write to Ann"), model("write to Ann")] == [SAID, SAID]
        (request,) = server.requests
        assert request.headers["authorization"] == "Bearer sk-loopback"
        system, user = request.body["messages"]
        assert (system["content"], user) == (INSTRUCTIONS, {"role": "user", "content": "write to Ann"})
        assert request.body["response_format"]["type"] == "json_schema" and request.body["reasoning_effort"] == "low"
        assert model.counts["prompt_tokens"] == 1_000 and model.counts["completion_tokens"] == 200
        assert seen(model) == {"answered": 1, "cached": 1}
        model("a" * 10_000 + "z" * 10_000)  # both ends of it
        assert server.requests[1].body["messages"][1]["content"] == "a" * 2_000 + "\n[…]\n" + "z" * 2_000


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('<think>{"needs": 1}</think>Here:\n```json\n{"needs": ["send an e-mail"]}\n```', ("send an e-mail",)),
        ('{"needs": []}', ()),
        (json.dumps({"needs": ["x" * 10_000]}), ("x" * 300,)),
        (json.dumps({"needs": ["0", *map(str, range(100))]}), tuple(map(str, range(12)))),
        (json.dumps({"needs": ["send\u202e\x1b[2J\x00 it \ud83d", "SEND [2J it", "  "]}), ("send [2J it",)),
    ],
)
def test_needs_are_read_bounded_and_without_hidden_characters(content: str, expected: tuple[str, ...]) -> None:
    with asking(Reply(completion(content))) as (model, _):
        assert model("hello") == expected and seen(model) == {"answered": 1}


TEXTS = ("I would search first.", None, '{"needs": [1]}', '{"needs": "send"}')
BODIES = ("{not json", "[" * 60_000, "x" * 5_000_000, [1], {"choices": 7, "usage": {"prompt_tokens": -5}})
REFUSED = [*(Reply({}, status) for status in (403, 429, 500)), *(Reply("{}", reset_after=after) for after in (-1, 1))]
NONSENSE = [*(Reply(completion(text)) for text in TEXTS), *map(Reply, BODIES)]


@pytest.mark.parametrize("reply", [*REFUSED, *NONSENSE])
def test_what_is_wrong_leaves_the_plain_request_and_is_counted(reply: Reply) -> None:
    with asking(reply) as (model, _):
        assert model("write to Ann") == ()
        assert seen(model) == {"refused" if reply in REFUSED else "nonsense": 1} and min(model.counts.values()) == 0


@pytest.mark.parametrize("late", [Reply({}, delay_s=60), Reply(" " * 60_000, drip_s=0.02), Reply("", 500, delay_s=60)])
def test_a_server_that_hangs_or_trickles_costs_the_time_that_was_granted(late: Reply) -> None:
    with asking(late, timeout_s=0.1) as (model, _):
        start = time.perf_counter()
        assert model("write to Ann") == ()
        assert time.perf_counter() - start < 30  # the answers take a minute and more
        assert until(lambda: seen(model) == {"late": 1})


def test_a_server_that_knows_no_structured_output_is_asked_without_it() -> None:
    refusal = Reply({"error": {"message": "response_format is unknown"}}, 400)
    with asking(lambda body, _: refusal if "response_format" in body else needs(*SAID)) as (model, _):
        assert [model("one"), model("two")] == [(), SAID]


def test_equal_requests_are_asked_once_and_those_beyond_the_bound_go_without() -> None:
    go = threading.Event()

    def held(*_: object) -> Reply:
        assert go.wait(20)
        return needs(*SAID)

    with asking(held, concurrency=2) as (model, server), ThreadPoolExecutor() as threads:
        first = threads.submit(model, "one")
        assert until(lambda: server.requests)
        second = threads.submit(model, "one")
        assert until(lambda: model._waiting == 2)
        assert [model("two"), model("one")] == [(), ()]
        go.set()
        assert (first.result(), second.result(), len(server.requests)) == (SAID, SAID, 1)
        assert seen(model) == {"answered": 1, "busy": 2}


def test_the_needs_that_were_used_longest_ago_are_forgotten() -> None:
    with asking(needs(*SAID), cache_size=2) as (model, server):
        for request in ("a", "b", "a", "c", "a", "b"):
            model(request)
        assert [request.body["messages"][1]["content"] for request in server.requests] == ["a", "b", "c", "b"]


def test_after_five_failures_the_model_rests_until_one_request_finds_it_well(caplog: pytest.LogCaptureFixture) -> None:
    now, well = [0.0], threading.Event()
    with asking(lambda *_: needs(*SAID) if well.is_set() else Reply({}, 500), clock=lambda: now[0]) as (model, server):
        assert {model(f"request {number}") for number in range(7)} == {()}
        assert len(server.requests) == 5 and seen(model) == {"refused": 5, "resting": 2}
        assert [*caplog.messages] == ["the model small is asked no more for a while: refused (500)"]
        now[0] = 31
        assert [model("a"), model("b")] == [(), ()] and len(server.requests) == 6  # it is not well yet
        well.set()
        now[0] = 62
        assert [model("a"), model("b")] == [SAID, SAID]


def test_closing_ends_the_thread_and_whoever_waits_and_a_later_request_has_no_needs() -> None:
    own = Own()
    with asking(Reply({}, delay_s=60)) as (model, server), ThreadPoolExecutor() as threads:
        waiting = threads.submit(model, "one")
        assert until(lambda: server.requests)
        model.close()
        assert waiting.result() == model("two") == ()
        assert own.names("quartermaster-needs") == []


def test_a_forked_process_asks_by_a_thread_of_its_own() -> None:
    with asking(needs(*SAID)) as (model, _):
        model("one")
        if not (child := os.fork()):
            os._exit(0 if model("two") == SAID else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_serving_asks_the_named_model_does_without_one_that_is_gone_and_counts_both(
    snapshot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(lambda *_: needs(*SAID)) as server, ExitStack() as stack:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        router = stack.enter_context(ServedSource(ask_needs="small", watch=0).serving(snapshot, None))
        client = stack.enter_context(TestClient(app(router), base_url="http://localhost"))
        assert server.requests == []  # the first run of the encoder asks nobody
        kept = stack.pop_all()
        for _ in range(2):
            assert client.post("/v1/route", json={"request": "write to Ann"}).status_code == 200
        assert client.post("/v1/route-many", json={"requests": ["call Ann"]}).status_code == 200
    with kept:
        assert client.post("/v1/route", json={"request": "call Bob"}).status_code == 200
        metrics = client.get("/metrics").text
    assert [request.body["model"] for request in server.requests] == ["small"]
    for outcome, count in {"answered": 1.0, "cached": 1.0, "refused": 1.0, "late": 0.0}.items():
        assert f'quartermaster_needs_total{{outcome="{outcome}"}} {count}' in metrics
    assert 'quartermaster_needs_tokens_total{kind="prompt"} 1000.0' in metrics
    assert ServedSource().logged_and_asked()["ask_needs"] is None
