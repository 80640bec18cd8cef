"""Calls that wait for their client's answer, under the 2026 protocol.

That protocol has no requests from a server. A call that needs an answer is answered with the question and a state
(`InputRequiredResult`); the client repeats the call with both. Meanwhile the call at the upstream stays open here, so
the repeated call must reach this process.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
import msgspec
from anyio.abc import TaskGroup
from mcp.server.context import ServerRequestContext

from router.errors import RequestInvalid
from router.serving.mcp.calling_client import (
    ANSWER_TIMEOUT_S,
    CALLING_CLIENT,
    CallingClient,
    InputAnswer,
    InputRequest,
    error_data,
)

_Context = ServerRequestContext[Any]
Result = types.CallToolResult | types.ReadResourceResult | types.GetPromptResult
Run = Callable[[], Awaitable[Result]]
_RESULT_KEPT_S = 60.0
_NOT_OPEN = "the question of this call is no longer open here: call again without it"


class _Call:
    """A call in a task of its own, which outlives the request that began it."""

    def __init__(self, context: _Context, run: Run) -> None:
        self.client = CallingClient(context, self.ask)
        self.scope = anyio.CancelScope()
        self.questions: dict[str, InputRequest] = {}
        self.result: Result | None = None
        self.error: Exception | None = None
        self._answers: dict[str, InputAnswer] = {}
        self._changed = anyio.Event()
        self._answered = anyio.Event()
        self._asked = 0
        self._run = run

    @property
    def finished(self) -> bool:
        return self.result is not None or self.error is not None or self.scope.cancel_called

    async def run(self) -> None:
        with self.scope:
            CALLING_CLIENT.set(self.client)
            try:
                self.result = await self._run()
            except Exception as error:  # noqa: BLE001 - raised again to the request that waits
                self.error = error
        self._changed.set()

    async def ask(self, request: InputRequest) -> InputAnswer:
        """Put a question to the client, and return what it answers."""
        self._asked += 1
        key = f"question-{self._asked}"
        self.questions[key] = request
        self._changed.set()
        try:
            with anyio.move_on_after(ANSWER_TIMEOUT_S):
                while key not in self._answers:
                    await self._answered.wait()
                return self._answers.pop(key)
            return error_data(f"the client did not answer within {ANSWER_TIMEOUT_S:g} s")
        finally:
            self.questions.pop(key, None)

    def answer(self, responses: Mapping[str, Any]) -> None:
        """Hand answers to their questions. A question without one gets an error."""
        for key, request in self.questions.items():
            self._answers[key] = _checked(request, responses.get(key))
        self.questions.clear()
        answered, self._answered = self._answered, anyio.Event()
        answered.set()

    async def next(self) -> None:
        """Wait until the call is finished, or there is a question. The call ends with whoever waits for it."""
        try:
            while not self.finished and not self.questions:
                self._changed = anyio.Event()
                await self._changed.wait()
        except anyio.get_cancelled_exc_class():
            self.scope.cancel()
            raise


class SuspendedCalls:
    """The calls of clients of the 2026 protocol. At most `limit` wait for an answer at a time."""

    def __init__(self, tasks: TaskGroup, limit: int = 256) -> None:
        self._tasks = tasks
        self._limit = limit
        self._waiting: dict[str, tuple[object, _Call]] = {}

    async def answer(
        self,
        context: _Context,
        owner: object,
        params: types.CallToolRequestParams | types.ReadResourceRequestParams | types.GetPromptRequestParams,
        run: Run,
    ) -> Result | types.InputRequiredResult:
        """Return the result of a call, or its question. `owner` is who calls: nobody else can answer its questions.

        Raises RequestInvalid where the question that it answers is not open, and whatever `run` raises.
        """
        place = (owner, _identity(params))
        if params.request_state is None:
            call = _Call(context, run)
            self._tasks.start_soon(call.run)
        else:
            known, waiting = self._waiting.get(params.request_state, (None, None))
            if waiting is None or known != place:
                raise RequestInvalid(_NOT_OPEN)
            del self._waiting[params.request_state]
            call = waiting
            call.client.context = context
            call.answer(params.input_responses or {})
        await call.next()
        call.client.context = None
        if call.error is not None:
            raise call.error
        if call.result is not None:
            return call.result
        if not call.questions:
            raise RequestInvalid("the call was cancelled")
        if len(self._waiting) >= self._limit:
            call.scope.cancel()
            raise RequestInvalid(f"{self._limit} calls wait for answers of their clients, which is the most: try again")
        state = secrets.token_urlsafe(24)
        self._waiting[state] = (place, call)
        self._tasks.start_soon(self._forget, state)
        return types.InputRequiredResult(input_requests=dict(call.questions), request_state=state)

    async def _forget(self, state: str) -> None:
        """End a call whose client never answers."""
        await anyio.sleep(ANSWER_TIMEOUT_S + _RESULT_KEPT_S)
        if (waiting := self._waiting.pop(state, None)) is not None:
            waiting[1].scope.cancel()


def _identity(params: Any) -> bytes:
    """Return what is the same in each round of a call."""
    row = params.model_dump(by_alias=True, mode="json", exclude={"meta", "input_responses", "request_state"})
    return msgspec.json.encode(row, order="deterministic")


def _checked(request: InputRequest, response: object) -> InputAnswer:
    wanted: Any = (
        types.ElicitResult
        if isinstance(request, types.ElicitRequest)
        else types.CreateMessageResult | types.CreateMessageResultWithTools
    )
    if isinstance(response, wanted):
        return response  # type: ignore[no-any-return]
    return error_data("the client did not answer" if response is None else "the client gave an answer of another kind")
