"""Calls by tool id: what the router's selection, profile and trust keep from being called."""

import asyncio

import pytest

from quartermaster.calling import CallRefused, CallSettings, HttpCaller, ProviderCalls
from router import Router
from router.errors import RequestInvalid
from router.operation import Operation, OperationParameter
from router.record import ToolRecord
from router.selection.profile import Profile
from router.selection.settings import Selection
from tests.support.api_server import ApiServer, Reply
from tests.support.factories import make_record

RECORDS = [
    make_record("read", "shop", description="Read all items.", operation=Operation("GET", "/items")),
    make_record("drop", "shop", description="Delete all items.", operation=Operation("DELETE", "/items")),
    make_record("talk", "chat", description="Send a message."),
]


def caller(api: ApiServer, selection: Selection | None = None, profile: Profile | None = None) -> HttpCaller:
    """A caller over a router of these records in memory."""
    router = Router.from_tools(RECORDS, encoder=None, selection=selection)
    served = router.for_profile(profile) if profile else router
    return HttpCaller(served, CallSettings({"shop": ProviderCalls(base_url=api.url)}))


def test_a_caller_is_the_call_of_an_adapter(api: ApiServer) -> None:
    call, api.answer = caller(api), lambda _: Reply.of(["lamp"])
    assert asyncio.run(call("shop/read", {})) == '["lamp"]'
    assert asyncio.run(call("shop/drop", {})).startswith("the call failed: shop/drop was not called: it is a DELETE")
    assert asyncio.run(call("chat/talk", {})).startswith("the call failed: chat/talk")
    assert "search for tools" in asyncio.run(call("shop/invented", {}))
    assert call.preview("shop/drop", {}).value["method"] == "DELETE"  # it sends nothing, whatever is allowed
    assert len(api.received) == 1


@pytest.mark.parametrize(
    ("selection", "profile"),
    [(Selection(block=("shop/*",)), None), (None, Profile("chat", Selection(allow=("chat/*",))))],
)
def test_a_tool_outside_of_the_selection_or_the_profile_is_not_called(
    api: ApiServer, selection: Selection | None, profile: Profile | None
) -> None:
    with pytest.raises(RequestInvalid):
        asyncio.run(caller(api, selection, profile).call("shop/read", {}))
    assert api.received == []


def test_a_definition_that_a_server_or_client_registers_brings_no_operation(api: ApiServer) -> None:
    """Only a build's reader and a program's own records say how an API is called with the operator's secrets."""
    router = Router.from_tools(RECORDS, encoder=None)
    operation = {"method": "GET", "path": "/admin"}
    router.register([{"name": "read", "description": "Read.", "operation": operation}], provider="shop")
    record = router.complete_record("shop/read")
    assert isinstance(record, ToolRecord) and record.operation is None


def test_arguments_are_mended_by_the_schema_before_they_are_refused_and_the_model_is_told(api: ApiServer) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]}
    operation = Operation("GET", "/items", parameters=(OperationParameter("n", "query"),))
    record = make_record("read", "shop", input_schema=schema, operation=operation)
    call = HttpCaller(
        Router.from_tools([record], encoder=None), CallSettings({"shop": ProviderCalls(base_url=api.url)})
    )
    told = "The arguments were mended by the tool's schema: n: its text was read as JSON."
    api.answer = lambda _: Reply.of(["lamp"])
    assert asyncio.run(call("shop/read", {"n": "5"})) == f'["lamp"]\n{told}'
    result = asyncio.run(call.call("shop/read", {"n": "5"}))
    assert (result.text, result.value, result.mended) == ('["lamp"]', ["lamp"], told)
    assert asyncio.run(call.call("shop/read", {"n": 5})).mended == ""
    assert call.preview("shop/read", {"n": "5"}).mended == told
    with pytest.raises(
        CallRefused, match=r"\$\.n: '10' is not of type 'integer'\. Its signature is shop/read\(n: integer"
    ):
        call.preview("shop/read", {"n": "10"})
    assert [request.query for request in api.received] == [[("n", "5")]] * 3
