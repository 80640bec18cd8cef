"""Calls tools at the HTTP APIs that their OpenAPI documents describe. Needs the extra `serve`.

>>> settings = read_call_settings(Path("calls.toml"))
>>> call = HttpCaller(router, settings)
>>> (await call.call("prefect/read_flow", {"id": "0a1b…"})).value["name"]
'nightly'

`settings` say where an API is, how to authenticate there (`auth`) and what may be called; `requests` makes a request of
a record's operation and arguments, with `styles`; `sending` sends it within limits; `results` tells a model of the
answer. `calls` joins them.
"""

from quartermaster.calling.auth import ApiKey, Auth, Basic, Bearer, ClientCredentials
from quartermaster.calling.calls import ApiCalls, HttpCaller
from quartermaster.calling.errors import CallFailed, CallRefused
from quartermaster.calling.results import CallResult
from quartermaster.calling.settings import CallSettings, ProviderCalls, read_call_settings

__all__ = [
    "ApiCalls",
    "ApiKey",
    "Auth",
    "Basic",
    "Bearer",
    "CallFailed",
    "CallRefused",
    "CallResult",
    "CallSettings",
    "ClientCredentials",
    "HttpCaller",
    "ProviderCalls",
    "read_call_settings",
]
