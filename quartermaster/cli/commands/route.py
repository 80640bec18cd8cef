"""search, explain and call: the tools for a request, the reasons, and a call of one."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from quartermaster.cli.commands.options import JsonOutput, RecipeName, SelectionFile, SignedSource
from quartermaster.output.terminal import json_text, print_err, print_json
from router import RoutedTools, Router
from router.errors import SettingsInvalid
from router.record import ToolRecord

RequestText = Annotated[str, typer.Argument(help="What should be done, in everyday words.")]


@dataclass(frozen=True, kw_only=True)
class RouteOptions(SignedSource):
    """How a request is answered, and from which snapshot."""

    k: Annotated[int, typer.Option("-k", help="How many tools.")] = 10
    recipe: RecipeName = None
    need: Annotated[
        list[str] | None,
        typer.Option(help="What you expect to call, such as “find a customer by e-mail”. May be repeated."),
    ] = None
    selection: SelectionFile = None
    category: Annotated[str | None, "The request's category, for a selection that filters by it."] = None
    category_confidence: Annotated[float | None, "Confidence in the category, 0 to 1."] = None
    token_budget: Annotated[int | None, "Return the tools that fit into this many tokens."] = None
    as_json: JsonOutput = False

    def route(self, request: str, *, explain: bool = False) -> tuple[RoutedTools, Router]:
        """Return the answer to a request, and what gave it."""
        router = self.open(self.selection)
        routed = router.route(
            request,
            needs=self.need or (),
            k=self.k,
            explain=explain or bool(self.need),  # says which need each tool serves
            recipe=router.recipe(self.recipe),
            category=self.category,
            category_confidence=self.category_confidence,
            token_budget=self.token_budget,
        )
        return routed, router


def search(request: RequestText, how: RouteOptions) -> None:
    """Find the tools that fit a request, best first."""
    from quartermaster.output.answer import show_answer, show_next

    routed, router = how.route(request)
    if how.as_json:
        print_json(routed.to_json(_trusted_json))
    else:
        show_answer(routed)
        show_next(router, "why these tools", ["explain", request, *how.given()])


def _trusted_json(record: ToolRecord) -> dict[str, Any]:
    """Return a record as a model may read it: programs hand these answers on."""
    from router.provider_formats.formats import VendorText
    from router.provider_formats.shaping import handed_record

    return handed_record(record, VendorText.TRUSTED).to_json()


def explain(
    request: RequestText,
    how: RouteOptions,
    tool: Annotated[str | None, typer.Argument(help="A tool id: explain the rank of this one tool.")] = None,
) -> None:
    """Explain an answer: ranks, shares, nearest phrases.

    Shows for each tool its rank and its share of the score by signal, and its phrase nearest to the request; then what
    was left out, and why. With a TOOL, shows its rank in every list, however far down, whatever a selection says, and
    why the request finds it or does not.
    """
    from quartermaster.evaluation.verdict import wants_phrase
    from quartermaster.output.answer import show_diagnosis, show_explanation, show_next

    if tool is None:
        routed, router = how.route(request, explain=True)
        if how.as_json:
            print_json(routed.to_json(_trusted_json))
        else:
            show_explanation(routed)
            show_next(router, "why not another tool", ["explain", request, "TOOL", *how.given()])
        return
    unused = {"--selection": how.selection, "--category": how.category, "--token-budget": how.token_budget}
    if in_vain := [name for name, value in unused.items() if value is not None]:
        raise SettingsInvalid(
            f"with a TOOL its rank in every list is shown, whatever a selection says: leave out {in_vain[0]}"
        )
    router = how.open()
    found = router.diagnose(request, tool, needs=how.need or (), k=how.k, recipe=router.recipe(how.recipe))
    if how.as_json:
        print_json({"rank": found.rank, "notes": list(found.answer.notes), **found.tool.to_json(_trusted_json)})
    else:
        show_diagnosis(router, found)
        if wants_phrase(found):
            show_next(router, "a phrase for it", ["phrases", "add", tool, request, "--folder", "CATALOG"])


def call(
    tool_id: Annotated[str, typer.Argument(metavar="TOOL", help="The id of the tool, as search prints it.")],
    source: SignedSource,
    calls: Annotated[
        Path | None, "A TOML or JSON file of HTTP APIs, [provider.NAME]: see docs/serving.md. A dry run needs none."
    ] = None,
    arguments: Annotated[str, "The arguments, as a JSON object."] = "{}",
    dry_run: Annotated[bool, "Send nothing: print the request, with secrets masked."] = False,
    selection: SelectionFile = None,
    as_json: JsonOutput = False,
) -> None:
    """Call a tool of an OpenAPI document, and print the answer.

    \b
    quartermaster call prefect/read_flow_by_name --calls calls.toml --arguments '{"name": "nightly"}'

    Ends with 3 where the API answers with an error, or with nothing.
    """
    import msgspec

    from quartermaster.calling import CallSettings, HttpCaller, ProviderCalls, read_call_settings
    from router.tools.arguments import object_of

    if calls is None and not dry_run:
        message = "name the file that says how the API is called; --dry-run needs none"
        raise typer.BadParameter(message, param_hint="--calls")
    settings = read_call_settings(calls) if calls else CallSettings({"*": ProviderCalls(document_server=True)})
    given = object_of(arguments)
    with source.open(selection) as router:
        caller = HttpCaller(router, settings)
        result = caller.preview(tool_id, given) if dry_run else asyncio.run(caller.call(tool_id, given))
    print(json_text(msgspec.to_builtins(result)) if as_json else result.text)
    if result.mended:
        print_err(result.mended)
    if result.is_error:
        raise typer.Exit(3)
