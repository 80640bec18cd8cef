"""The options of a route are declared once, for the type checker, for `help` and for the check."""

import asyncio
import inspect
from dataclasses import fields
from typing import Any

import pytest

from router import Detail, Router
from router.answer.options import CheckedOptions, RouteOptions

METHODS = (Router.route, Router.route_many, Router.route_async, Router.route_many_async)


def test_each_option_is_checked() -> None:
    assert {option.name for option in fields(CheckedOptions)} == {
        *RouteOptions.__annotations__,
        "rerank",
        "vendor_text",
    }


@pytest.mark.parametrize("method", METHODS)
def test_help_shows_each_option_with_its_default_and_its_meaning(method: Any) -> None:
    parameters = inspect.signature(method).parameters
    assert list(parameters)[2:] == list(RouteOptions.__annotations__)
    assert (parameters["k"].default, parameters["detail"].default) == (10, Detail.FULL)
    assert parameters["selection"].default is None and parameters["k"].kind is inspect.Parameter.KEYWORD_ONLY
    documented = inspect.getdoc(method) or ""
    assert all(f"\n    {name}: " in documented for name in RouteOptions.__annotations__)


def test_an_unknown_option_is_a_type_error(router: Router) -> None:
    with pytest.raises(TypeError, match=r"route\(\) got an unexpected keyword argument 'limit'"):
        router.route("refund", limit=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'rerank'"):
        router.route_many(["refund"], rerank=None)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'limit'"):
        asyncio.run(router.route_async("refund", limit=3))  # type: ignore[call-arg]
