"""The router's answers: tools with their reasons, and whether any fits."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from router.provider_formats.formats import Detail, FormName, ProviderFormat, VendorText
from router.record import ToolRecord

if TYPE_CHECKING:
    from router.provider_formats.rendering import Rendered

_MAX_SHOWN = 10  # tools
_MAX_CHARACTERS = 120


def _record_json(record: ToolRecord) -> dict[str, Any]:
    return record.without_outputs().to_json()


class NeededBy(msgspec.Struct, frozen=True):
    """A tool that needs another to run first.

    Attributes:
        tool_id: The tool's id.
        parameter: The parameter whose value the other finds: `person_id`.
    """

    tool_id: str
    parameter: str

    def to_json(self) -> dict[str, str]:
        """Return a JSON-ready dict."""
        return {"tool_id": self.tool_id, "parameter": self.parameter}


class RoutedTool(msgspec.Struct, frozen=True):
    """One tool of an answer.

    `ranks`, `contributions`, `phrase`, `assumed`, `step` and `gain` are filled with `explain=True`.

    Attributes:
        tool_id: The tool's id.
        record: The tool itself.
        score: The fused score. It orders the tools of one answer and cannot be compared across answers; a selection or
            a reranker may order them otherwise.
        ranks: The tool's rank in each list that holds it, by the signal's name ("name", or `Signal.NAME`).
        contributions: The part of the score that each list added. Contributions and gain add up to the score.
        phrase: The tool's generated phrase that is nearest to the request.
        by_person: Whether a person wrote that phrase, by `quartermaster phrases`.
        assumed: The part of the contributions that was estimated: the expansion's where the tool has none, name's and
            description's where it is described in another language.
        step: The need or step that the tool serves best, what shows an implicit need, or the earlier message.
        gain: What the step, and the tools that need this one, added to the score.
        raised: The part of the gain that being needed gave.
        also_from: The ids of the tool's duplicates, which the answer leaves out.
        needed_by: The tools of the answer that need this one to run first, and for which parameter.
        detail: How much of the tool is handed over: less than all where a token budget is tight.
    """

    tool_id: str
    record: ToolRecord
    score: float
    ranks: Mapping[str, int] = {}
    contributions: Mapping[str, float] = {}
    phrase: str | None = None
    assumed: float = 0.0
    step: str | None = None
    gain: float = 0.0
    raised: float = 0.0
    also_from: tuple[str, ...] = ()
    needed_by: tuple[NeededBy, ...] = ()
    detail: Detail = Detail.FULL
    by_person: bool = False

    def __repr__(self) -> str:
        return f"<RoutedTool {self.tool_id}, score {self.score:.3f}>"

    def to_json(self, record_json: Callable[[ToolRecord], dict[str, Any]] = _record_json) -> dict[str, Any]:
        """Return a JSON-ready dict. Its record is as `record_json` returns it, by default without outputs."""
        return {
            "tool_id": self.tool_id,
            "score": self.score,
            "ranks": dict(self.ranks),
            "contributions": dict(self.contributions),
            "assumed": self.assumed,
            "step": self.step,
            "gain": self.gain,
            "raised": self.raised,
            "phrase": self.phrase,
            "by_person": self.by_person,
            "also_from": list(self.also_from),
            "needed_by": [needing.to_json() for needing in self.needed_by],
            "detail": str(self.detail),
            "record": record_json(self.record),
        }


class Dropped(msgspec.Struct, frozen=True):
    """A candidate that was left out.

    Attributes:
        tool_id: The tool's id.
        by: The filter, the budget or the cap that left it out.
        reason: Why, in a sentence.
    """

    tool_id: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class RoutedTools:
    """An answer. It is a sequence of its tools, best first.

    Attributes:
        tools: The tools, best first.
        snapshot: The id of the one snapshot that gave the answer.
        recipe: The name of the recipe.
        fits: The probability that some tool fits; None where the snapshot has no calibration for the recipe's lists. Of
            a dialogue it is that of the message that a tool fits best.
        latest_fits: The same of the latest message; where it follows up an earlier one ("and for Bob"), of that one.
        none_fits: Whether `latest_fits` is below the threshold: the tools are then the closest ones.
        calibrated: Whether `fits` was fitted to this catalog and to requests in this language. If not, it was fitted on
            other catalogs, and is a hint.
        needs: The needs that the caller stated, without those that were blank or repeated.
        uncovered: Those of `needs` that most likely no tool fits.
        steps: The steps of a request of several, where the caller stated no needs.
        implicit_needs: What the request only implies, such as "write_file", with the words that show it. Each brought a
            tool.
        always: The tools that the selection adds to every answer. They take no ranked place.
        dropped: The candidates that the selection, the budget or a provider's cap left out, best first; with `explain`
            also those that a filter kept out of the search.
        notes: Which options had no effect, and why; with `explain` also which list could read only a part of the
            request.
        why_empty: Why no tool was found, and how to search again; empty where there are some.
        failed: Why reranking failed; the tools are then in the order before it. Empty where nothing failed.
        overlay: The revision of the tools registered over the snapshot.
        form: The provider format in which tokens were counted.
        tokens: The tokens of all tools in `form`; None without a budget.
        ms: Milliseconds by stage.
        vendor_text: Which text of the tools `render` hands over: the router's setting.
        request_id: The answer's id in the router's feedback log; empty where no log keeps it.
    """

    tools: tuple[RoutedTool, ...]
    snapshot: str
    recipe: str
    fits: float | None = None
    latest_fits: float | None = None
    none_fits: bool = False
    calibrated: bool = False
    needs: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    implicit_needs: Mapping[str, str] = field(default_factory=dict)
    always: tuple[RoutedTool, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    why_empty: str = ""
    failed: str = ""
    overlay: str = ""
    form: ProviderFormat = ProviderFormat.OPENAI
    tokens: int | None = None
    ms: Mapping[str, float] = field(default_factory=dict, compare=False)
    vendor_text: VendorText = VendorText.TRUSTED
    request_id: str = field(default="", compare=False)

    def __repr__(self) -> str:
        fits = "" if self.latest_fits is None else f", fits {self.latest_fits:.2f}"
        ids = ", ".join(self.ids[:_MAX_SHOWN]) + (", …" if len(self) > _MAX_SHOWN else "")
        return f"<RoutedTools: {len(self)} of {self.snapshot}{fits}{': ' if ids else ''}{ids}>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks, with phrases under `explain`. All text is escaped: catalogs are untrusted."""
        from html import escape  # here: its table of entities takes a millisecond

        rows = "".join(
            f"<tr><td>{rank or 'always'}</td><td>{escape(tool.tool_id)}</td>"
            f"<td>{escape(tool.phrase or '')}</td><td>{escape(tool.record.description[:_MAX_CHARACTERS])}</td></tr>"
            for rank, tool in (*((0, tool) for tool in self.always), *enumerate(self.tools, 1))
        )
        head = "<tr><th>#</th><th>tool</th><th>nearest phrase</th><th>description</th></tr>"
        return f"<p>{escape(self.doubt or self.gaps)}</p><table>{head}{rows}</table>"

    def __iter__(self) -> Iterator[RoutedTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __getitem__(self, position: int) -> RoutedTool:
        return self.tools[position]

    @property
    def offered(self) -> tuple[str, ...]:
        """Return the ids of every tool that the answer hands over: those of `always`, then the ranked ones."""
        return tuple(tool.tool_id for tool in (*self.always, *self.tools))

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the tools' ids, best first."""
        return tuple(tool.tool_id for tool in self.tools)

    @property
    def doubt(self) -> str:
        """Return a sentence for people and models where `none_fits`; an empty text where a tool fits."""
        if not self.none_fits:
            return ""
        if not self.calibrated:
            return "Perhaps no tool fits this request; that is a guess, not calibrated for this catalog."
        probability = "" if self.latest_fits is None else f" (probability that one does: {self.latest_fits:.2f})"
        return f"Most likely no tool fits this request{probability}."

    @property
    def gaps(self) -> str:
        """Return the needs that no tool fits as a sentence for people and models; an empty text where there are none.

        Where none fits at all, `doubt` says it. Needs may quote a stranger, so steering text is left out.
        """
        from router.tools.trust.trusted import trusted_text  # here: most answers cover all needs

        named = "; ".join(trusted_text(need) for need in self.uncovered)
        nothing = "Nothing" if self.calibrated else "Perhaps nothing"
        return f"{nothing} fits: {named}." if named and not self.none_fits else ""

    @property
    def nothing(self) -> str:
        """Return the sentences for people and models where no tool is handed over: why, and what to do."""
        why = self.why_empty or "no tool was found: search in other words"
        why = f"{self.doubt} Search in other words" if self.none_fits else f"{why[0].upper()}{why[1:]}"
        return f"{why}, or say that it cannot be done."

    def render(
        self, form: ProviderFormat | FormName | None = None, *, strict: bool = False, defer_loading: bool = False
    ) -> "Rendered":
        """Return the tools in a provider's format, those of `always` first, with the id behind each name.

        Prompt injection in vendors' text is left out, and listed in `withheld`, unless the router hands over verbatim.

        Args:
            form: The provider format; that of the answer by default.
            strict: Mark the tools that the provider's strict mode accepts.
            defer_loading: Mark the ranked tools as deferred, for the provider's own tool search; those of `always` are
                loaded from the start.

        Raises:
            SettingsInvalid: The form is unknown, or has no deferred tools.
        """
        from router.provider_formats.rendering import render  # here: a reader of records renders nothing

        tools = (*self.always, *self.tools)
        records, details = [tool.record for tool in tools], [tool.detail for tool in tools]
        form = self.form if form is None else form
        always = {tool.tool_id for tool in self.always}
        deferred = {tool.tool_id for tool in self.tools} - always if defer_loading else False
        return render(
            records, form, detail=details, strict=strict, defer_loading=deferred, vendor_text=self.vendor_text
        )

    def to_json(self, record_json: Callable[[ToolRecord], dict[str, Any]] = _record_json) -> dict[str, Any]:
        """Return a JSON-ready dict. `record_json` returns that of a record."""
        return {
            "snapshot": self.snapshot,
            "recipe": self.recipe,
            "fits": self.fits,
            "latest_fits": self.latest_fits,
            "none_fits": self.none_fits,
            "calibrated": self.calibrated,
            "needs": list(self.needs),
            "uncovered": list(self.uncovered),
            "steps": list(self.steps),
            "implicit_needs": dict(self.implicit_needs),
            "tools": [tool.to_json(record_json) for tool in self.tools],
            "always": [tool.to_json(record_json) for tool in self.always],
            "dropped": [{"tool_id": tool.tool_id, "by": tool.by, "reason": tool.reason} for tool in self.dropped],
            "notes": list(self.notes),
            "why_empty": self.why_empty,
            "failed": self.failed,
            "overlay": self.overlay,
            "form": str(self.form),
            "tokens": self.tokens,
            "ms": dict(self.ms),
            "request_id": self.request_id,
        }
