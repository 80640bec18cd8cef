"""A model that cannot be used at all: the build ends at once, with the way out, and keeps what it has."""

from typing import Any

import pytest
from pydantic import SecretStr

from pipeline.enrichment.openai import DirectGenerator
from pipeline.errors import RunAborted, SettingsInvalid
from pipeline.settings import EnrichmentSettings
from tests.pipeline.enrichment.model_server import ModelServer, Reply, answer, error, replies, tool_of
from tests.support.factories import make_record
from tests.support.ports import kept_port
from tests.support.waiting import until

_RECORDS = [make_record(f"tool_{number}") for number in range(20)]
_NO_KEY = error(401, "Incorrect API key provided: sk-loop*back.", code="invalid_api_key")
_NO_RIGHT = error(403, "Project does not have access to this model.", code="model_not_found")
_NO_MODEL = error(404, "The model `gpt-nope` does not exist.", code="model_not_found")
_NO_QUOTA = error(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota", {})


@pytest.mark.parametrize("reply", [_NO_KEY, _NO_RIGHT, _NO_MODEL, _NO_QUOTA], ids=["401", "403", "404", "quota"])
def test_a_key_or_model_that_cannot_be_used_aborts_at_once_with_a_way_out_and_not_the_key(reply: Reply) -> None:
    def script(_: dict[str, Any], count: int) -> Reply:
        return Reply(reply.body, reply.status, delay_s=0.05 if count > 1 else 0.0)

    with ModelServer(script) as server, pytest.raises(RunAborted) as aborted:
        list(replies(DirectGenerator(server.settings(model="gpt-nope", max_retries=3)), _RECORDS))
    said = str(aborted.value)
    assert reply.body["error"]["message"].rstrip(".") in said
    assert "gpt-nope" in said and server.base_url in said
    assert "OPENAI_API_KEY" in said and "enrichment.model" in said and "--generator none" in said
    assert "sk-loopback" not in said
    assert len(server.requests) <= 3  # the requests in flight when the first answer came


@pytest.mark.parametrize("key", ["sk-top\nsecret", "sk-top-sécret", "sk-top\x00secret"])
def test_a_key_that_no_header_can_carry_is_a_wrong_setting_and_is_not_shown(key: str) -> None:
    with pytest.raises(SettingsInvalid, match=r"OPENAI_API_KEY.*an HTTP header cannot carry") as refused:
        DirectGenerator(EnrichmentSettings(api_key=SecretStr(key)))
    assert "sk-top" not in str(refused.value)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_nobody_listening_aborts_with_the_base_url_without_its_password(concurrency: int) -> None:
    with kept_port() as port:
        address = f"127.0.0.1:{port}/v1"
        settings = EnrichmentSettings(base_url=f"http://u:secret@{address}", max_retries=0, concurrency=concurrency)
        with pytest.raises(RunAborted, match=rf"no answer from http://{address}") as aborted:
            list(replies(DirectGenerator(settings), _RECORDS))
    assert "secret" not in str(aborted.value)
    assert "Check enrichment.base_url" in str(aborted.value) and "--generator none" in str(aborted.value)


def test_a_wrong_base_url_aborts_with_what_was_asked() -> None:
    settings = EnrichmentSettings(base_url="localhost:8000/v1", max_retries=0)
    with pytest.raises(RunAborted, match=r"localhost:8000/v1.*Check enrichment\.base_url"):
        list(replies(DirectGenerator(settings), _RECORDS[:1]))
    with ModelServer() as server, pytest.raises(RunAborted, match=r"Invalid URL \(POST /chat/completions\)"):
        list(replies(DirectGenerator(server.settings(base_url=server.base_url.removesuffix("/v1"))), _RECORDS[:1]))


def test_answers_behind_a_slow_refusal_are_kept() -> None:
    def late_refusal(body: dict[str, Any], _: int) -> Reply:
        if tool_of(body)["name"] != "tool_0":
            return answer(body)
        assert until(lambda: len(server.requests) == len(_RECORDS))
        return _NO_KEY

    kept = []
    with ModelServer(late_refusal) as server, pytest.raises(RunAborted, match="Incorrect API key"):
        for outcome in replies(DirectGenerator(server.settings(concurrency=4)), _RECORDS):
            kept.append(outcome.tool_id)
    assert sorted(kept) == sorted(record.tool_id for record in _RECORDS[1:])
