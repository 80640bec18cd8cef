"""A model that cannot be used at all."""

import socket
from typing import Any

import pytest
from pydantic import SecretStr

from pipeline.enrichment.generator import GeneratedExpansion, GenerationFailure
from pipeline.enrichment.openai import DirectGenerator
from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.settings import EnrichmentSettings
from tests.pipeline.enrichment.model_server import ModelServer, Reply, answer, error, replies, tool_of
from tests.support.factories import make_record

_RECORDS = [make_record(f"tool_{number}") for number in range(20)]
_NO_KEY = error(401, "Incorrect API key provided: sk-loop*back.", code="invalid_api_key")
_NO_RIGHT = error(403, "Project does not have access to this model.", code="model_not_found")
_NO_MODEL = error(404, "The model `gpt-nope` does not exist.", code="model_not_found")


@pytest.mark.parametrize("reply", [_NO_KEY, _NO_RIGHT, _NO_MODEL], ids=["401", "403", "404"])
def test_a_key_or_model_that_cannot_be_used_aborts_at_once_with_a_way_out(reply: Reply) -> None:
    def script(_: dict[str, Any], count: int) -> Reply:
        return Reply(reply.body, reply.status, delay_s=0.05 if count > 1 else 0.0)

    with ModelServer(script) as server, pytest.raises(RunAborted) as aborted:
        list(replies(DirectGenerator(server.settings(model="gpt-nope", max_retries=3)), _RECORDS))
    said = str(aborted.value)
    assert reply.body["error"]["message"] in said
    assert "gpt-nope" in said and server.base_url in said
    assert "OPENAI_API_KEY" in said and "enrichment.model" in said and "--generator lexicon" in said
    assert len(server.requests) <= 3  # the requests in flight when the first answer came


def test_the_key_is_not_in_the_sentence() -> None:
    with ModelServer(lambda *_: _NO_KEY) as server, pytest.raises(RunAborted) as aborted:
        list(replies(DirectGenerator(server.settings()), _RECORDS))
    assert "sk-loopback" not in str(aborted.value)


@pytest.mark.parametrize("key", ["sk-top\nsecret", "sk-top-sécret", "sk-top\x00secret"])
def test_a_key_that_no_header_can_carry_is_a_wrong_setting_and_is_not_shown(key: str) -> None:
    with pytest.raises(SettingsInvalid, match=r"OPENAI_API_KEY.*an HTTP header cannot carry") as refused:
        DirectGenerator(EnrichmentSettings(api_key=SecretStr(key)))
    assert "sk-top" not in str(refused.value)


def test_an_abort_in_the_middle_comes_after_the_answers_before_it() -> None:
    outcomes: list[GeneratedExpansion | GenerationFailure] = []
    with ModelServer(lambda body, n: answer(body) if n <= 5 else _NO_KEY) as server:
        generator = replies(DirectGenerator(server.settings()), _RECORDS)
        with pytest.raises(RunAborted, match="Incorrect API key"):
            for outcome in generator:
                outcomes.append(outcome)
    assert [outcome.tool_id for outcome in outcomes] == [record.tool_id for record in _RECORDS[:5]]


@pytest.mark.parametrize("concurrency", [1, 8])
def test_nobody_listening_aborts_with_the_base_url_and_a_way_out(concurrency: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused for sure
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        settings = EnrichmentSettings(base_url=url, max_retries=0, concurrency=concurrency)
        with pytest.raises(RunAborted) as aborted:
            list(replies(DirectGenerator(settings), _RECORDS))
    assert f"no answer from {url}" in str(aborted.value)
    assert "Check enrichment.base_url" in str(aborted.value) and "--generator lexicon" in str(aborted.value)


def test_a_base_url_without_scheme_aborts_with_the_base_url() -> None:
    settings = EnrichmentSettings(base_url="localhost:8000/v1", max_retries=0)
    with pytest.raises(RunAborted, match=r"localhost:8000/v1.*Check enrichment\.base_url"):
        list(replies(DirectGenerator(settings), _RECORDS[:1]))


def test_a_base_url_of_another_path_aborts_as_not_found() -> None:
    with ModelServer() as server, pytest.raises(RunAborted, match=r"Invalid URL \(POST /chat/completions\)"):
        settings = server.settings(base_url=server.base_url.removesuffix("/v1"))
        list(replies(DirectGenerator(settings), _RECORDS[:1]))


def test_a_generator_without_records_asks_nobody() -> None:
    with ModelServer(lambda *_: _NO_KEY) as server:
        assert list(replies(DirectGenerator(server.settings()), [])) == []
    assert server.requests == []


def test_a_spent_quota_aborts() -> None:
    def spent(_: dict[str, Any], __: int) -> Reply:
        error = {
            "message": "You exceeded your current quota",
            "type": "insufficient_quota",
            "code": "insufficient_quota",
        }
        return Reply({"error": error}, status=429)

    with ModelServer(spent) as server, pytest.raises(RunAborted, match="quota"):
        list(
            replies(
                DirectGenerator(server.settings(max_retries=0, concurrency=2)), [make_record("a"), make_record("b")]
            )
        )


def test_answers_behind_a_slow_refusal_are_kept() -> None:
    def late_refusal(body: dict[str, Any], _: int) -> Reply:
        if tool_of(body)["name"] == "tool_0":
            return Reply({"error": {"message": "bad key", "code": "invalid_api_key"}}, status=401, delay_s=0.5)
        return answer(body)

    records = [make_record(f"tool_{number}") for number in range(20)]
    kept = []
    with ModelServer(late_refusal) as server, pytest.raises(RunAborted, match="bad key"):
        for outcome in replies(DirectGenerator(server.settings(concurrency=4)), records):
            kept.append(outcome.tool_id)
    assert sorted(kept) == sorted(record.tool_id for record in records[1:])
