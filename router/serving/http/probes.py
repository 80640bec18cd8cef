"""GET /healthz, /readyz and /metrics: for whoever watches over the process."""

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from router.serving.http import answers
from router.serving.http.documented import GATE, Responses, failures, json_of
from router.serving.http.errors import failure, json_response
from router.serving.http.service import Service


def probes(service: Service) -> APIRouter:
    """The paths that say how the process is."""
    routes = APIRouter(tags=["operation"])

    @routes.get("/healthz", responses={**json_of(answers.Health), **failures(421, 500)})
    async def healthz() -> Response:
        """Whether the process answers at all; open, as `/readyz` is."""
        return json_response({"status": "ok", "snapshot": None})

    @routes.get("/readyz", responses={**json_of(answers.Health), **failures(421, 500, 503)})
    async def readyz() -> Response:
        """Whether a snapshot serves; 503 with the reason while none does."""
        if not service.ready:
            return failure(503, service.problem)
        return json_response({"status": "ok", "snapshot": service.router.manifest.snapshot})

    content = {"text/plain": {"schema": {"type": "string"}}}
    text: Responses = {200: {"content": content, "description": "Prometheus' text format."}}

    @routes.get("/metrics", response_class=Response, responses={**text, **GATE})
    async def metrics() -> Response:
        """Requests, stages, answers, the cache and the snapshot, for Prometheus."""
        return Response(service.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    return routes
