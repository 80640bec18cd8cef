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

from quartermaster.serving.mcp.calling_client import (
    ANSWER_TIMEOUT_S,
    CALLING_CLIENT,
    CallingClient,
    InputAnswer,
    InputRequest,
    error_data,
)
from router.errors import RequestInvalid

_Context = ServerRequestContext[Any]
Result = types.CallToolResult | types.ReadResourceResult | types.GetPromptResult
Run = Callable[[], Awaitable[Result]]
Owner = tuple[str | None, str | None]  # a profile and a token
_RESULT_KEPT_S = 60.0
_NOT_OPEN = "the question of this call is no longer open here: call again without it"


class _Call:
    """A call in a task of its own, which outlives the request that began it."""

    def __init__(self, context: _Context, run: Run, owner: object) -> None:
        self.client = CallingClient(context, self.ask, owner=owner)
        self.scope = anyio.CancelScope()
        self.questions: dict[str, InputRequest] = {}
        self.result: Result | None = None
        self.error: Exception | None = None
        self.timer: anyio.CancelScope | None = None
        self._answers: dict[str, InputAnswer] = {}
        self._changed = anyio.Event()
        self._answered = anyio.Event()
        self._asked = 0
        self._shown: set[str] = set()
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
        """Hand answers to the questions that the client was shown. One without an answer gets an error.

        A question that came since then stays open for the next round.
        """
        for key in self._shown & self.questions.keys():
            self._answers[key] = _checked(self.questions.pop(key), responses.get(key))
        self._shown = set()
        answered, self._answered = self._answered, anyio.Event()
        answered.set()

    def show(self) -> dict[str, InputRequest]:
        """Return the open questions, for the client."""
        self._shown = set(self.questions)
        return dict(self.questions)

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
    """The calls of clients of the 2026 protocol. At most `limit` wait for answers at a time, of one token a quarter."""

    def __init__(self, tasks: TaskGroup, limit: int = 256) -> None:
        self._tasks = tasks
        self._limit = limit
        self._limit_of_token = max(1, limit // 4)
        self._waiting: dict[str, tuple[tuple[Owner, bytes], _Call]] = {}

    async def answer(
        self,
        context: _Context,
        owner: Owner,
        params: types.CallToolRequestParams | types.ReadResourceRequestParams | types.GetPromptRequestParams,
        run: Run,
        client: object = None,
    ) -> Result | types.InputRequiredResult:
        """Return the result of a call, or its question. `owner` is who calls: nobody else can answer its questions.
        `client` is equal for calls of one client, as `CallingClient.owner` is.

        Raises RequestInvalid where the question that it answers is not open, and whatever `run` raises.
        """
        place = (owner, _identity(params))
        if params.request_state is None:
            call = _Call(context, run, client)
            self._tasks.start_soon(call.run)
        else:
            known = self._waiting.get(params.request_state)
            if known is None or known[0] != place:
                raise RequestInvalid(_NOT_OPEN)
            _, call = self._waiting.pop(params.request_state)
            if call.timer is not None:
                call.timer.cancel()
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
        if limit := self._limit_reached(owner):
            call.scope.cancel()
            raise RequestInvalid(f"{limit} calls wait for answers of their clients, which is the most: try again")
        state = secrets.token_urlsafe(24)
        self._waiting[state] = (place, call)
        call.timer = anyio.CancelScope()
        self._tasks.start_soon(self._forget, state, call, call.timer)
        return types.InputRequiredResult(input_requests=call.show(), request_state=state)

    def _limit_reached(self, owner: Owner) -> int:
        """Return the limit that another waiting call would exceed; 0 for none. One token cannot take all places."""
        if len(self._waiting) >= self._limit:
            return self._limit
        own = sum(place[0] == owner for place, _ in self._waiting.values())
        return self._limit_of_token if owner[1] is not None and own >= self._limit_of_token else 0

    async def _forget(self, state: str, call: _Call, timer: anyio.CancelScope) -> None:
        """End a call whose client never answers. The answer cancels the timer, so that none outlives its call."""
        with timer:
            await anyio.sleep(ANSWER_TIMEOUT_S + _RESULT_KEPT_S)
            if self._waiting.pop(state, None) is not None:
                call.scope.cancel()


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
