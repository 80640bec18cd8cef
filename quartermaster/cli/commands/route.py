"""search and explain: the tools for a request, and the reasons."""

import json
from typing import Annotated, Optional

import typer

from quartermaster.cli.commands.arguments import (
    WORKSPACE,
    CacheDir,
    Catalog,
    Category,
    CategoryConfidence,
    JsonOutput,
    RecipeName,
    RequestText,
    SelectionFile,
    SnapshotSource,
    TokenBudget,
    ToolCount,
    TrustedKeys,
    Workspace,
    open_router,
)
from router.errors import SettingsInvalid


def search(
    request: RequestText,
    k: ToolCount = 10,
    recipe: RecipeName = None,
    selection: SelectionFile = None,
    category: Category = None,
    category_confidence: CategoryConfidence = None,
    token_budget: TokenBudget = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: SnapshotSource = None,
    cache_dir: CacheDir = None,
    trusted_keys: TrustedKeys = None,
    as_json: JsonOutput = False,
) -> None:
    """Find the tools that fit a request, best first."""
    from quartermaster.output.answer import results_table, show_notes, show_verdict
    from quartermaster.output.terminal import out

    routed = open_router(snapshot, workspace, catalog, selection, trusted_keys, cache_dir).route(
        request,
        k=k,
        recipe=recipe,
        category=category,
        category_confidence=category_confidence,
        token_budget=token_budget,
    )
    if as_json:
        print(json.dumps(routed.to_json(), ensure_ascii=False))
        return
    show_verdict(routed)
    if len(routed):
        out.print(results_table(routed))
    elif not routed.dropped:
        out.print("no tool has anything in common with the request")
    show_notes(routed)


def explain(
    request: RequestText,
    tool: Annotated[Optional[str], typer.Argument(help="A tool id: explain the rank of this one tool.")] = None,
    k: ToolCount = 10,
    recipe: RecipeName = None,
    selection: SelectionFile = None,
    category: Category = None,
    category_confidence: CategoryConfidence = None,
    token_budget: TokenBudget = None,
    catalog: Catalog = None,
    workspace: Workspace = WORKSPACE,
    snapshot: SnapshotSource = None,
    cache_dir: CacheDir = None,
    trusted_keys: TrustedKeys = None,
    as_json: JsonOutput = False,
) -> None:
    """Explain an answer: ranks, shares, nearest phrases.

    Shows for each tool its rank and its share of the score by signal, and its phrase nearest to the request; then what
    was left out, and why. With a TOOL, shows its rank in every list, however far down, whatever a selection says, and
    why the request finds it or does not.
    """
    from quartermaster.output.answer import show_diagnosis, show_explanation

    unused = {"--selection": selection, "--category": category, "--token-budget": token_budget}
    if tool is not None and (in_vain := [name for name, value in unused.items() if value is not None]):
        raise SettingsInvalid(
            f"with a TOOL its rank in every list is shown, whatever a selection says: leave out {in_vain[0]}"
        )
    router = open_router(snapshot, workspace, catalog, selection, trusted_keys, cache_dir)
    if tool is None:
        routed = router.route(
            request,
            k=k,
            explain=True,
            recipe=recipe,
            category=category,
            category_confidence=category_confidence,
            token_budget=token_budget,
        )
        if as_json:
            print(json.dumps(routed.to_json(), ensure_ascii=False))
        else:
            show_explanation(routed)
        return
    found = router.diagnose(request, tool, k=k, recipe=recipe)
    if as_json:
        print(json.dumps({"rank": found.rank, **found.tool.to_json()}, ensure_ascii=False))
    else:
        show_diagnosis(router, found)
