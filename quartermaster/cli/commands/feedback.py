"""feedback: what a feedback log holds, and the erasure of a request's text."""

from pathlib import Path
from typing import Annotated, Optional

import typer

from quartermaster.cli.commands.arguments import JsonOutput


def feedback(
    folder: Annotated[Path, typer.Argument(help="The folder of a feedback log.")],
    forget: Annotated[
        Optional[str], typer.Option(metavar="TEXT", help="Erase the text of this request from the log first.")
    ] = None,
    as_json: JsonOutput = False,
) -> None:
    """Show what was offered and what became of it: by rank, by outcome, and the tools that nobody calls.

    \b
    quartermaster feedback feedback/
    quartermaster feedback feedback/ --forget "refund the order of Lindholm"
    """
    from quartermaster.output.feedback import forget_text, show_feedback

    if forget is not None:
        forget_text(folder, forget)
    show_feedback(folder, as_json=as_json)
