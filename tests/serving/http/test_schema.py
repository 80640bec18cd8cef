"""The OpenAPI document is what the server does: schemathesis sends what it allows, and holds the answers against it."""

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from router import Router
from router.serving.http import HttpSettings, app

OPERATIONS = {
    "GET /healthz",
    "GET /metrics",
    "GET /readyz",
    "GET /v1/snapshot",
    "GET /v1/tools",
    "GET /v1/tools/{tool_id}",
    "POST /v1/route",
    "POST /v1/route-many",
}


def test_every_answer_is_one_that_the_document_says(router: Router) -> None:
    application = app(router, HttpSettings(requests_per_minute=None, hosts=("testserver",)))
    document = schemathesis.openapi.from_asgi("/openapi.json", application)
    tried = set()
    for found in document.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=10,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(operation.as_strategy())
        def answers(case: schemathesis.Case) -> None:
            case.call_and_validate()

        answers()
        tried.add(operation.label)
    assert tried == OPERATIONS
