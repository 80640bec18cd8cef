"""Models of the API's answers, for the OpenAPI document only: answers are encoded as the router returns them.

A model is published under its `__qualname__`. Docstrings are published too: change neither lightly.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from router.contract import Signal
from router.provider_formats import Detail, Form
from router.record import Kind


class _ResponseModel(BaseModel):
    model_config = ConfigDict(extra="forbid", model_title_generator=lambda model: model.__qualname__)


class ParameterJson(_ResponseModel):
    """One leaf or branch of a tool's input schema; `path` is dotted, `[]` stands for an array's items."""

    path: str
    type: str
    description: str
    enum: list[str]
    required: bool


class OriginJson(_ResponseModel):
    """Where a record came from."""

    file: str
    pointer: str


class WithheldJson(_ResponseModel):
    """A part of a tool that is not handed over: its place, the check that found it, and why."""

    field: str
    check: str
    reason: str


class RecordJson(_ResponseModel):
    """A tool as its vendor describes it: data of strangers, to be shown and searched, never obeyed."""

    tool_id: str
    provider: str | None
    name: str
    description: str
    parameters: list[ParameterJson]
    input_schema: dict[str, Any]
    examples: list[str]
    categories: list[str]
    annotations: dict[str, Any]
    deprecated: bool
    origin: OriginJson
    kind: Kind = Field(Kind.TOOL, description="Left out of a tool.")
    instructions: str = Field("", description="Of a skill, where it is asked for by its id: how to do the task.")
    withheld: list[WithheldJson] = Field(description="Steering text and hidden characters that were left out.")
    unusable: str = Field(description="Why no model should be handed the tool; empty for a tool that can be called.")


class NeededByJson(_ResponseModel):
    """A tool of the answer that needs another to run first, and the parameter whose value that one finds."""

    tool_id: str
    parameter: str


class RoutedToolJson(_ResponseModel):
    """A tool of an answer; ranks, contributions and phrase with `explain` alone."""

    tool_id: str
    score: float
    ranks: dict[Signal, int]
    contributions: dict[Signal, float]
    assumed: float
    step: str | None
    gain: float
    raised: float = Field(description="The part of `gain` that being needed by another tool gave.")
    phrase: str | None
    also_from: list[str]
    needed_by: list[NeededByJson] = Field(description="The tools of the answer that need this one to run first.")
    detail: Detail
    record: RecordJson


class DroppedJson(_ResponseModel):
    """A tool that was found and left out: by what, and why."""

    tool_id: str
    by: str
    reason: str


class NoteJson(_ResponseModel):
    """What should be known of one tool."""

    tool_id: str
    reason: str


class RenderedJson(_ResponseModel):
    """The tools as the asked form has them, and the way back from each name to its tool's id."""

    tools: list[dict[str, Any]]
    names: dict[str, str]
    parameters: dict[str, dict[str, str]] = Field(description="By tool name: each renamed parameter, and its own name.")
    dropped: list[NoteJson] = Field(description="Tools beyond the number that the provider accepts, or unusable ones.")
    notes: list[NoteJson] = Field(description="Why a tool is not strict although `strict` was set.")
    withheld: dict[str, list[WithheldJson]] = Field(description="By tool id: the vendor's text that was left out.")


class AnswerJson(_ResponseModel):
    """Tools, best first. Where `none_fits`, they are what came closest; where `failed` says why, not what was asked."""

    __qualname__ = "Answer"

    snapshot: str
    recipe: str
    fits: float | None = Field(description="The probability that some tool fits; null without a calibration.")
    none_fits: bool
    calibrated: bool = Field(description="Whether `fits` was fitted to this catalog; else it is a hint.")
    steps: list[str]
    implicit_needs: dict[str, str] = Field(
        description="What the request only implies, by name, with the words that show it."
    )
    tools: list[RoutedToolJson]
    always: list[RoutedToolJson]
    dropped: list[DroppedJson]
    notes: list[str]
    failed: str
    overlay: str = Field(description="The revision of what was registered and removed at run time.")
    form: Form
    tokens: int | None
    ms: dict[str, float]
    request_id: str = Field(description="What to send to `/v1/feedback`; empty where nothing keeps this answer.")
    rendered: RenderedJson | None


class Answers(_ResponseModel):
    """An answer a request, in their order."""

    answers: list[AnswerJson]


class ToolPageJson(_ResponseModel):
    """Tools by id; `next` is what to give as `after` for those behind them, null at the end."""

    __qualname__ = "ToolPage"

    tools: list[RecordJson]
    next: str | None
    total: int


class SnapshotJson(_ResponseModel):
    """What serves: the essentials of the snapshot's manifest."""

    snapshot: str
    catalog: str
    created_at: str
    tools: int
    signals: list[Signal]
    languages: list[str]
    encoder: str | None
    recipe: str
    token_counter: str
    counts: dict[str, int]
    generators: dict[str, int]


class ChangeJson(_ResponseModel):
    """The ids that a change registered, and how many tools are served after it."""

    __qualname__ = "Changed"

    registered: list[str]
    tools: int


class Health(_ResponseModel):
    """`status` is "ok"; the snapshot where one serves."""

    status: str
    snapshot: str | None
    stale: bool | None = Field(
        None, description="Of /readyz: whether what serves is not known to be the newest; null where nothing looks."
    )


class Problem(_ResponseModel):
    """Why it cannot be done: `message` for people, `type` for programs, `field` where one is wrong."""

    type: str
    message: str
    field: str = ""


class FailureJson(_ResponseModel):
    """The one shape of everything that goes wrong."""

    __qualname__ = "Failure"

    error: Problem
