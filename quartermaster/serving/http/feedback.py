"""POST /v1/feedback, where the router keeps feedback. Docstrings of paths are published in the OpenAPI document."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from quartermaster.serving.http.errors import failure
from quartermaster.serving.http.openapi import BODY_FAILURES, Responses
from quartermaster.serving.http.requests import FeedbackRequest
from quartermaster.serving.http.service import Service
from router.feedback import FeedbackLog


def feedback_paths(service: Service, log: FeedbackLog) -> APIRouter:
    """Return the path that takes what became of an answer's tools."""
    routes = APIRouter(prefix="/v1", tags=["routing"])
    recorded: Responses = {204: {"description": "Recorded."}}

    @routes.post("/feedback", status_code=204, responses={**recorded, **BODY_FAILURES})
    async def feedback(body: FeedbackRequest, request: Request) -> Response:
        """Say what became of a tool of an answer: the next build learns from it. The last report on a tool counts."""
        caller = service.caller_of(request)
        if caller.router.record(body.tool_id) is None:
            return failure(
                404, f"the snapshot {caller.router.manifest.snapshot} has no tool {body.tool_id!r}", "tool_id"
            )
        log.report(body.request_id, body.tool_id, body.outcome, caller=caller.token)
        return Response(status_code=204)

    return routes
