"""The options of a route are declared once, for the type checker, for `help` and for the check."""

import asyncio
import inspect
from typing import Any

import pytest

from router import Detail, Router
from router.answer.options import CheckedOptions, RouteOptions


@pytest.mark.parametrize("method", [Router.route, Router.route_many, Router.route_async, Router.route_many_async])
def test_each_option_is_checked_and_help_shows_it_with_its_default_and_its_meaning(method: Any) -> None:
    names = RouteOptions.__annotations__
    assert set(CheckedOptions.__struct_fields__) == {*names, "rerank", "vendor_text", "ask_needs"}
    parameters = inspect.signature(method).parameters
    assert set(list(parameters)[2:]) == set(names)
    assert (parameters["k"].default, parameters["detail"].default) == (10, Detail.FULL)
    assert parameters["selection"].default is None and parameters["k"].kind is inspect.Parameter.KEYWORD_ONLY
    assert all(f"\n    {name}: " in (inspect.getdoc(method) or "") for name in names)


def test_an_unknown_option_is_a_type_error(router: Router) -> None:
    with pytest.raises(TypeError, match=r"route\(\) got an unexpected keyword argument 'limit'"):
        router.route("refund", limit=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'rerank'"):
        router.route_many(["refund"], rerank=None)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'limit'"):
        asyncio.run(router.route_async("refund", limit=3))  # type: ignore[call-arg]
