"""What the API takes, as its schema says it; what is out of bounds is refused before anything is routed."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from router.answer.options import RouteOptions
from router.provider_formats import Detail, Form
from router.retrieval.recipe import RECIPES
from router.selection import Selection
from router.serving.bounds import MAX_K, MAX_TEXT

_MANY = 64
MOST_TOOLS = 1_000  # of all answers of one route-many


def _number(value: object) -> object:
    if isinstance(value, str | bool):
        raise PydanticCustomError("int_type", "must be a whole number")
    return value


RecipeName = StrEnum("RecipeName", {name.upper(): name for name in RECIPES})  # type: ignore[misc]
# A request, or a message, says something.
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=r"\S")]
Name = Annotated[str, Field(min_length=1, max_length=512, pattern=r"\S")]
Names = Annotated[list[Name], Field(max_length=1_000)]
Share = Annotated[float, Field(ge=0, le=1, strict=True)]
# JSON has types: "10" is no number and 0 is no false; but 10.0 is a whole number.
Flag = Annotated[bool, Field(strict=True)]
_Whole = BeforeValidator(_number)
K = Annotated[int, Field(ge=1, le=MAX_K), _Whole]
Pool = Annotated[int, Field(ge=1, le=10_000), _Whole]
Overlap = Annotated[int, Field(ge=0, le=1_000), _Whole]
Budget = Annotated[int, Field(ge=1, le=10_000_000), _Whole]


class _Strict(BaseModel):
    """A field that nobody knows is a mistake, and not overlooked."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Message(_Strict):
    """A message of a dialogue, as chat APIs have them; what the user said is what is routed by."""

    role: Literal["user", "assistant", "system", "developer", "tool"] = "user"
    content: str = Field(max_length=MAX_TEXT)


class SelectionWeights(_Strict):
    """Weights of the combined score, each from 0 to 1; where any is set, it orders the candidates."""

    embed: Share | None = None
    lexical: Share | None = None
    tag: Share | None = None
    name: Share | None = None
    category: Share | None = None


class SelectionSettings(_Strict):
    """What is filtered, and by what candidates are ordered; left out: nothing, by the fused ranking."""

    allow: Names = Field([], description="Tools by id, by name, or by a glob over either, such as `stripe/*`.")
    block: Names = Field([], description="Tools that are left out, named as in `allow`.")
    providers: Names = Field([], description="Only tools of one of these.")
    categories: Names = Field([], description="Only tools of one of these.")
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
    always: Names = Field([], description="Ids that every answer has, beside the ranked tools.")
    empty_if_none_fits: Flag = Field(False, description="No ranked tools where the catalog says that none fits.")
    fallback_to_empty: Flag = Field(True, description="false: 404 where no tool is left.")


class _Options(_Strict):
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

    def arguments(self) -> RouteOptions:
        """The options as `Router.route` takes them. Raises SettingsInvalid for a selection that is none."""
        chosen = self.selection
        return {
            "k": self.k,
            "explain": self.explain,
            "recipe": self.recipe and self.recipe.value,
            "selection": None if chosen is None else Selection.from_json(chosen.model_dump(exclude_unset=True)),
            "category": self.category,
            "category_confidence": self.category_confidence,
            "token_budget": self.token_budget,
            "form": self.form,
            "detail": self.detail,
            "shorten": self.shorten,
        }


# Told apart by what they are, so that an error is of one branch, and not of both.
_Said = Annotated[
    Annotated[Text, Tag("text")] | Annotated[Message, Tag("message")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "message"),
]
_OF_USER = {
    "anyOf": [{"type": "string"}, {"properties": {"role": {"const": "user"}, "content": {"pattern": r"\S"}}}],
}
_Dialogue = Annotated[
    list[_Said], Field(min_length=1, max_length=_MANY, json_schema_extra={"contains": _OF_USER})  # the router checks it
]
_Request = Annotated[
    Annotated[Text, Tag("text")] | Annotated[_Dialogue, Tag("messages")],
    Discriminator(lambda value: "text" if isinstance(value, str) else "messages"),
]


class RouteRequest(_Options):
    """What should be done, and how the answer is to be."""

    request: _Request = Field(description="A request, or recent messages, oldest first: the latest counts most.")

    def said(self) -> str | list[str | dict[str, str]]:
        """The request as `Router.route` takes it."""
        if isinstance(self.request, str):
            return self.request
        return [one if isinstance(one, str) else {"role": one.role, "content": one.content} for one in self.request]


class RouteManyRequest(_Options):
    """Several requests with the same options, answered by one snapshot."""

    requests: list[Text] = Field(min_length=1, max_length=_MANY)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        # 64 answers of 128 rendered tools are 17 MB and five seconds of a core.
        if (tools := len(self.requests) * self.k) > MOST_TOOLS:
            asked = f"{len(self.requests)} requests of k = {self.k} ask for {tools:,} tools"
            said = f"{asked}; the limit is {MOST_TOOLS:,}"
            raise PydanticCustomError("too_many_tools", "{said}", {"said": said})
        return self
