"""What the router answers: tools with their reasons, and whether any fits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from router.provider_formats import Detail, Form, Rendered, render
from router.record import ToolRecord


@dataclass(frozen=True, slots=True)
class RoutedTool:
    """One tool of an answer.

    `score` is the fused score: it orders the tools of one answer and says nothing across answers. `also_from` are the
    ids of the same tool of other providers, which take no place of their own.

    With `explain`, `ranks` and `contributions` hold each list that ranked the tool, by the signal's name ("name", or
    `Signal.NAME`, which equals it), and `phrase` the nearest of its generated phrases. `assumed` is how much of the
    expansion's contribution no list gave: a tool without expansion is not placed behind the others for the lack of it.
    `step` is the part of a request of several steps that the tool serves best, or the earlier message, and `gain` what
    it gave. Contributions and gain add up to the score, the fused one: a selection or a reranker may order the tools of
    an answer otherwise.

    `detail` is how much of the tool is handed over: less than all where a token budget is tight.
    """

    tool_id: str
    record: ToolRecord
    score: float
    ranks: Mapping[str, int] = field(default_factory=dict)
    contributions: Mapping[str, float] = field(default_factory=dict)
    phrase: str | None = None
    assumed: float = 0.0
    step: str | None = None
    gain: float = 0.0
    also_from: tuple[str, ...] = ()
    detail: Detail = Detail.FULL

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return {
            "tool_id": self.tool_id,
            "score": self.score,
            "ranks": dict(self.ranks),
            "contributions": dict(self.contributions),
            "assumed": self.assumed,
            "step": self.step,
            "gain": self.gain,
            "phrase": self.phrase,
            "also_from": list(self.also_from),
            "detail": str(self.detail),
            "record": self.record.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Dropped:
    """A tool that was found and left out: `by` names the filter, the budget or the cap, `reason` is a sentence."""

    tool_id: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class RoutedTools:
    """An answer: tools by falling score, the id of the one snapshot that gave it, and the recipe that made it.

    `fits` is the probability that some tool fits; None where the snapshot has no calibration for the recipe's lists; of
    a dialogue, that of the message that a tool fits best. `none_fits` says that it is below the threshold: the tools
    are then what came closest. `calibrated` says whether requests or phrases of this catalog set both; where it is
    False, they were fitted on other catalogs, and are a hint. `steps` are the parts of a request of several steps.

    `always` are the tools that the selection adds to every answer: they take no ranked place. `dropped` are the
    candidates that it, the budget or a provider's cap left out, best first; with `explain` also those that a filter
    kept from being found. `notes` say what was asked for and not done. `failed` says what of the selection went wrong:
    the tools are then the fused ranking's, not "none". `overlay` is the revision of what is registered over the
    snapshot. `tokens` are those of all that is handed over in `form`, where a budget asked for them. `ms` are
    milliseconds by stage.
    """

    tools: tuple[RoutedTool, ...]
    snapshot: str
    recipe: str
    fits: float | None = None
    none_fits: bool = False
    calibrated: bool = False
    steps: tuple[str, ...] = ()
    always: tuple[RoutedTool, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    failed: str = ""
    overlay: str = ""
    form: Form = Form.OPENAI
    tokens: int | None = None
    ms: Mapping[str, float] = field(default_factory=dict, compare=False)

    def __iter__(self) -> Iterator[RoutedTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __getitem__(self, position: int) -> RoutedTool:
        return self.tools[position]

    @property
    def ids(self) -> tuple[str, ...]:
        """The tools' ids, best first."""
        return tuple(tool.tool_id for tool in self.tools)

    @property
    def doubt(self) -> str:
        """A sentence where `none_fits`, for people and models: as sure as the calibration allows; else empty."""
        if not self.none_fits:
            return ""
        if not self.calibrated:
            return "Perhaps no tool fits this request; that is a guess, not calibrated for this catalog."
        sure = "" if self.fits is None else f" (probability that one does: {self.fits:.2f})"
        return f"Most likely no tool fits this request{sure}."

    def render(self, form: Form | str | None = None, *, strict: bool = False) -> Rendered:
        """The tools as a provider takes them, those of `always` first, with the way back from a name to its id.

        `form` is that of the answer where it is left out. `strict` marks the tools that OpenAI's strict mode can take.
        Raises SettingsInvalid for an unknown form.
        """
        tools = (*self.always, *self.tools)
        records, details = [tool.record for tool in tools], [tool.detail for tool in tools]
        return render(records, self.form if form is None else form, detail=details, strict=strict)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict, for programs."""
        return {
            "snapshot": self.snapshot,
            "recipe": self.recipe,
            "fits": self.fits,
            "none_fits": self.none_fits,
            "calibrated": self.calibrated,
            "steps": list(self.steps),
            "tools": [tool.to_json() for tool in self.tools],
            "always": [tool.to_json() for tool in self.always],
            "dropped": [{"tool_id": out.tool_id, "by": out.by, "reason": out.reason} for out in self.dropped],
            "notes": list(self.notes),
            "failed": self.failed,
            "overlay": self.overlay,
            "form": str(self.form),
            "tokens": self.tokens,
            "ms": dict(self.ms),
        }
