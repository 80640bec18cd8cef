"""Models of the API's requests: a value out of bounds is refused before anything is routed.

A model is published under its `__qualname__`. Docstrings are published too: change neither lightly.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from quartermaster.serving import MAX_K, MAX_TOKEN_BUDGET
from router.answer.options import RouteOptions
from router.feedback import Outcome
from router.provider_formats import Detail, Form
from router.record import Kind
from router.retrieval.recipe import RECIPES
from router.search.search import MAX_REQUEST
from router.selection import Selection

_MAX_REQUESTS = 64  # of one route-many; also messages of one dialogue
_MAX_TOOLS = 1_000  # of all answers of one route-many; also of one source


def _not_text(value: object) -> object:
    if isinstance(value, str | bool):
        raise PydanticCustomError("int_type", "must be a whole number")
    return value


RecipeName = StrEnum("RecipeName", {name.upper(): name for name in RECIPES})  # type: ignore[misc]
# A request, or a message, is not blank.
Text = Annotated[str, Field(min_length=1, max_length=MAX_REQUEST, pattern=r"\S")]
Name = Annotated[str, Field(min_length=1, max_length=512, pattern=r"\S")]
Names = Annotated[list[Name], Field(max_length=1_000)]
Share = Annotated[float, Field(ge=0, le=1, strict=True)]
# JSON has types: "10" is not a number and 0 is not false; but 10.0 is a whole number.
Flag = Annotated[bool, Field(strict=True)]
_WholeNumber = BeforeValidator(_not_text)
K = Annotated[int, Field(ge=1, le=MAX_K), _WholeNumber]
Pool = Annotated[int, Field(ge=1, le=10_000), _WholeNumber]
Overlap = Annotated[int, Field(ge=0, le=1_000), _WholeNumber]
Budget = Annotated[int, Field(ge=1, le=MAX_TOKEN_BUDGET), _WholeNumber]


class _RequestModel(BaseModel):
    """A model that refuses unknown fields: they are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True, model_title_generator=lambda model: model.__qualname__)


class Message(_RequestModel):
    """A message of a dialogue, as chat APIs have them; what the user said is what is routed by."""

    role: Literal["user", "assistant", "system", "developer", "tool"] = "user"
    content: str = Field(max_length=MAX_REQUEST)


class SelectionWeights(_RequestModel):
    """Weights of the combined score, each from 0 to 1; where any is set, it orders the candidates."""

    embed: Share | None = None
    lexical: Share | None = None
    tag: Share | None = None
    name: Share | None = None
    category: Share | None = None


class SelectionSettings(_RequestModel):
    """What is filtered, and by what candidates are ordered; left out: nothing, by the fused ranking."""

    allow: Names = Field([], description="Tools by id, by name, or by a glob over either, such as `stripe/*`.")
    block: Names = Field([], description="Tools that are left out, named as in `allow`.")
    providers: Names = Field([], description="Only tools of one of these.")
    categories: Names = Field([], description="Only tools of one of these.")
    kinds: list[Kind] = Field([], description="Only these; all by default.", max_length=len(Kind))
    annotations: dict[str, Any] = Field(
        {}, description='Only tools with exactly these annotations, such as {"readOnlyHint": true}.', max_length=100
    )
    use_category_filter: Flag = Field(False, description="Only tools of the category that comes with the request.")
    category_confidence_threshold: Share | None = Field(
        None, description="Below this confidence the category does not filter."
    )
    candidate_pool_size: Pool | None = Field(None, description="By default max(5 k, 20).")
    min_lexical_overlap: Overlap = Field(0, description="Tokens that request and tool have in common.")
    min_combined_score: Share = 0.0
    weights: SelectionWeights = SelectionWeights()
    max_per_provider: Pool | None = Field(None, description="Tools of one provider at most.")
    always: Names = Field([], description="Ids that every answer has, beside the ranked tools.")
    empty_if_none_fits: Flag = Field(False, description="No ranked tools where the catalog says that none fits.")
    fallback_to_empty: Flag = Field(True, description="false: 404 where no tool is left.")


class _Options(_RequestModel):
    k: K = Field(10, description="How many tools at most.")
    explain: Flag = Field(False, description="Ranks, contributions and the phrase that matched, for each tool.")
    recipe: RecipeName | None = Field(None, description="How the lists are fused; by default as the snapshot says.")
    form: Form | None = Field(None, description="Render the tools as this provider takes them; `rendered` has them.")
    strict: Flag = Field(False, description="Mark the tools that OpenAI's strict mode can take. With `form`.")

    selection: SelectionSettings | None = Field(None, description="Used instead of the server's.")
    category: Name | None = Field(None, description="What the request is about, where the caller knows.")
    category_confidence: Share | None = Field(None, description="How sure the caller is of `category`.")
    token_budget: Budget | None = Field(None, description="For all tools of an answer, in `form`, else in OpenAI's.")
    detail: Detail = Field(Detail.FULL, description="How much of each tool is handed over, at most.")
    shorten: Flag = Field(True, description="Shorten tools where more of them then fit the budget.")
    feedback: Flag = Field(True, description="Let the server's feedback log, where it has one, keep this answer.")

    def arguments(self) -> RouteOptions:
        """Return the options as `Router.route` takes them. Raises SettingsInvalid for an invalid selection."""
        selection = self.selection
        return {
            "k": self.k,
            "explain": self.explain,
            "recipe": self.recipe and self.recipe.value,
            "selection": None if selection is None else Selection.from_json(selection.model_dump(exclude_unset=True)),
            "category": self.category,
            "category_confidence": self.category_confidence,
            "token_budget": self.token_budget,
            "form": self.form,
            "detail": self.detail,
            "shorten": self.shorten,
            "feedback": self.feedback,
        }


# Discriminated by type, so that an error names one branch and not both.
_Turn = Annotated[
    Annotated[Text, Tag("text")] | Annotated[Message, Tag("message")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "message"),
]
_FROM_USER = {
    "anyOf": [{"type": "string"}, {"properties": {"role": {"const": "user"}, "content": {"pattern": r"\S"}}}],
}
_Dialogue = Annotated[
    list[_Turn],
    Field(min_length=1, max_length=_MAX_REQUESTS, json_schema_extra={"contains": _FROM_USER}),  # the router checks it
]
_Request = Annotated[
    Annotated[Text, Tag("text")] | Annotated[_Dialogue, Tag("messages")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "messages"),
]


class RouteRequest(_Options):
    """What should be done, and how the answer is to be."""

    request: _Request = Field(description="A request, or recent messages, oldest first: the latest counts most.")

    def messages(self) -> str | list[str | dict[str, str]]:
        """Return the request, a text or a dialogue, as `Router.route` takes it."""
        if isinstance(self.request, str):
            return self.request
        return [
            turn if isinstance(turn, str) else {"role": turn.role, "content": turn.content} for turn in self.request
        ]

    def texts(self) -> list[str]:
        """Return the texts of the request, oldest first."""
        turns = [self.request] if isinstance(self.request, str) else self.request
        return [turn if isinstance(turn, str) else turn.content for turn in turns]


class RouteManyRequest(_Options):
    """Several requests with the same options, answered by one snapshot."""

    requests: list[Text] = Field(min_length=1, max_length=_MAX_REQUESTS)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        # 64 answers of 128 rendered tools are 17 MB and five seconds of a core.
        always = len(self.selection.always) if self.selection else 0
        if (tools := len(self.requests) * (self.k + always)) > _MAX_TOOLS:
            beside = f" and {always:,} in `always`" if always else ""
            demand = f"{len(self.requests)} requests of k = {self.k}{beside} ask for {tools:,} tools"
            message = f"{demand}; the limit is {_MAX_TOOLS:,}"
            raise PydanticCustomError("too_many_tools", "{said}", {"said": message})
        return self


class FeedbackRequest(_RequestModel):
    """What became of a tool that an answer offered to this caller."""

    __qualname__ = "Feedback"

    request_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="`request_id` of the answer.")
    tool_id: Name
    outcome: Outcome = Field(description="Whether the tool was called, and how that went; or why it was not.")


# All vendors' forms have a name; the rest differs, and is checked when the definition is read.
_NAME = {"required": ["name"], "properties": {"name": {"type": "string", "pattern": r"\S"}}}
_NAMED: list[Any] = [_NAME, {"required": ["function"], "properties": {"function": {"type": "object", **_NAME}}}]


class ToolDefinitions(_RequestModel):
    """Tools as their vendor defines them: OpenAI's functions, Anthropic's tools, an MCP server's list."""

    __qualname__ = "Tools"

    tools: list[Annotated[dict[str, Any], Field(json_schema_extra={"anyOf": _NAMED})]] = Field(max_length=_MAX_TOOLS)
