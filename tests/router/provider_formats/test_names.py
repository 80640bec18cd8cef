"""Names of tools that providers take, and the way back to the id."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.provider_formats.formats import ProviderFormat
from router.provider_formats.names import hashed_names, id_of, legal_name

# Everything that an id's own spelling could be confused with, and what no provider takes.
IDS = st.text("ab/@.~_-2:é顧 ", min_size=1, max_size=12) | st.text(min_size=1, max_size=90)


@pytest.mark.parametrize(
    ("tool_id", "name"),
    [
        ("stripe/createRefund", "stripe__createRefund"),
        ("createRefund", "createRefund"),
        ("slack/chat.postMessage", "slack__chat-_postMessage"),
        ("stripe/create_refund~2", "stripe__create_refund--2"),
        ("@acme/mail-mcp/send", "_-acme__mail-mcp__send"),
        ("a/_b", "a___b"),
    ],
)
def test_an_id_is_spelled_out_with_its_provider(tool_id: str, name: str) -> None:
    assert {legal_name(tool_id, form) for form in ProviderFormat if form != ProviderFormat.MCP} == {name}
    assert id_of(name, {tool_id}.__contains__, dict) == tool_id


def test_a_name_that_cannot_be_read_back_ends_in_a_hash() -> None:
    assert legal_name("slack/chat.postMessage", ProviderFormat.MCP) == "slack__chat.postMessage"  # there a dot is legal
    assert re.fullmatch("a__b--[a-z2-7]{8}", legal_name("a_/b", ProviderFormat.OPENAI))  # a___b is the name of a/_b
    assert re.fullmatch("tool--[a-z2-7]{8}", legal_name("顧客/検索", ProviderFormat.OPENAI))
    assert legal_name("p" * 40 + "/" + "n" * 40, ProviderFormat.ANTHROPIC) == "p" * 40 + "__" + "n" * 40
    assert re.fullmatch("p{24,26}__n{27}--[a-z2-7]{8}", legal_name("p" * 40 + "/" + "n" * 40, ProviderFormat.OPENAI))


def test_a_name_is_one_of_its_tool_alone_whatever_else_is_in_the_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    known = hashed_names(["a_/b", "a/_b", "é"])
    assert set(known.values()) == {"a_/b", "é"}
    monkeypatch.setattr("router.provider_formats.names._HASH_LENGTH", 0)  # of two ids of one name, it leads to none
    assert hashed_names(["é", "à"]) == {}
    monkeypatch.undo()
    assert id_of("nobody__has_this", {"a/_b"}.__contains__, lambda: known) is None
    assert id_of("nobody--aaaaaaaa", {"a/_b"}.__contains__, lambda: known) is None
    assert id_of("a b", {"a b"}.__contains__, lambda: known) is None  # an id, and the name of none


@given(st.lists(IDS, unique=True, max_size=12), st.sampled_from(ProviderFormat))
def test_two_ids_never_meet_and_each_name_is_legal_and_leads_back(ids: list[str], form: ProviderFormat) -> None:
    names = {legal_name(tool_id, form): tool_id for tool_id in ids}
    limits = form.spec
    assert len(names) == len(ids)
    assert all(re.fullmatch(f"[a-zA-Z0-9{limits.marks}]{{1,{limits.length}}}", name) for name in names)
    assert not limits.first_letter or all(re.match("[A-Za-z_]", name) for name in names)
    known = hashed_names(ids)
    assert {name: id_of(name, set(ids).__contains__, lambda: known) for name in names} == names


@given(IDS)
def test_an_id_that_looks_like_the_name_of_another_has_a_name_of_its_own(tool_id: str) -> None:
    for form in ProviderFormat:
        name = legal_name(tool_id, form)
        assert name == tool_id or legal_name(name, form) != name
