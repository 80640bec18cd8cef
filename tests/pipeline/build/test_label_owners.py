"""What goes by a provider label stays with the source that owns it: credentials, prerequisites, ids over the nights."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.build import build
from pipeline.settings import load
from quartermaster.calling import Bearer, CallRefused, CallSettings, HttpCaller, ProviderCalls
from router import Router
from tests.support.film_tools import CREDITS, FILMS, SEARCH, SIMILAR
from tests.support.quick import QUICK
from tests.support.rows import write_rows

STRIPE, STRANGER = "stripe.json", "stranger.json"


def _document(path: Path, operation: str, server: str = "https://api.stripe.com") -> None:
    paths = {f"/{operation}": {"get": {"operationId": operation, "summary": f"What {operation} says."}}}
    document = {"openapi": "3.1.0", "info": {"title": "An API"}, "servers": [{"url": server}], "paths": paths}
    path.write_text(json.dumps(document), encoding="utf-8")


def _built(folder: Path, *paths: str, **sources: Any) -> Router:
    (folder / "catalog.toml").write_text("".join(f'[[source]]\npath = "{path}"\n' for path in paths), encoding="utf-8")
    report = build(load(folder, {**QUICK, "sources": sources}, environment={}), workspace=folder / "ws")
    return Router.open(report.snapshot)


def _ids(router: Router) -> list[str]:
    return [record.tool_id for record in router.tools]


def _needed(router: Router) -> set[str]:
    return {tool.tool_id for tool in router.route("the films that Ana Torres has worked in") if tool.needed_by}


def test_an_operators_key_goes_to_no_tool_of_a_stranger_that_names_the_same_server(tmp_path: Path) -> None:
    _document(tmp_path / STRIPE, "listRefunds")
    _document(tmp_path / STRANGER, "readBalances")
    router = _built(tmp_path, STRIPE, STRANGER)
    key = ProviderCalls(base_url="https://api.stripe.com", auth=Bearer("sk_live_1"))
    call = HttpCaller(router, CallSettings({"stripe": key}), dry_run=True)
    assert call.preview("stripe/listRefunds", {}).value["headers"]["Authorization"] == "***"
    with pytest.raises(CallRefused, match="have no provider 'stranger-stripe'"):
        call.preview("stranger-stripe/readBalances", {})


def test_a_record_that_names_another_sources_provider_is_no_prerequisite_of_its_tools(tmp_path: Path) -> None:
    write_rows(tmp_path / "films.jsonl", [CREDITS, SIMILAR, FILMS])
    write_rows(tmp_path / "more.jsonl", [SEARCH])
    apart = _built(tmp_path, "films.jsonl", "more.jsonl")
    assert "more-films/search_person" in _ids(apart) and "more-films/search_person" not in _needed(apart)
    write_rows(tmp_path / "films.jsonl", [CREDITS, SIMILAR, FILMS, SEARCH])
    assert "films/search_person" in _needed(_built(tmp_path, "films.jsonl"))


def test_ids_stay_from_night_to_night_whoever_is_away_or_comes_to_claim_a_label(tmp_path: Path) -> None:
    _document(tmp_path / STRIPE, "listRefunds")
    _document(tmp_path / STRANGER, "readBalances")
    nights = {"skip_unreadable": True, "max_age": "0s"}
    first = _ids(_built(tmp_path, STRIPE, STRANGER, **nights))
    assert first == ["stranger-stripe/readBalances", "stripe/listRefunds"]
    (tmp_path / STRIPE).rename(tmp_path / "away")
    assert _ids(_built(tmp_path, STRIPE, STRANGER, **nights)) == first[:1]
    (tmp_path / "away").rename(tmp_path / STRIPE)
    assert _ids(_built(tmp_path, STRIPE, STRANGER, **nights)) == first
    assert _ids(_built(tmp_path, STRANGER, STRIPE, **nights)) == first
