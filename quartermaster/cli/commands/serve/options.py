"""The options that both servers take, and what is made of them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from router.errors import SettingsInvalid

if TYPE_CHECKING:
    from router import FeedbackLog

TOKEN_VARIABLE = "QUARTERMASTER_TOKEN"  # noqa: S105 - the name of a variable
Profiles = Annotated[
    Optional[Path], typer.Option(help="A TOML file of profiles and tokens: each token sees its profile's tools alone.")
]
VendorTextOption = Annotated[
    str,
    typer.Option(
        help="What agents are handed of vendors' text: trusted (without steering text and hidden characters), verbatim."
    ),
]
Feedback = Annotated[
    Optional[Path], typer.Option(help="A folder that keeps what was offered and called, for builds to learn from.")
]
FeedbackTexts = Annotated[
    bool, typer.Option("--feedback-texts", help="Keep the requests' texts too: without them nothing can be learned.")
]


def feedback_log(folder: Optional[Path], texts: bool) -> "Optional[FeedbackLog]":
    """Return the feedback log that the options ask for. Raises SettingsInvalid for texts without a folder."""
    from router import FeedbackLog

    if folder is None:
        if texts:
            raise SettingsInvalid(
                "--feedback-texts is given and there is no log: name its folder with --feedback FOLDER"
            )
        return None
    return FeedbackLog(folder, texts=texts)


def token_or_empty(token: Optional[str]) -> Optional[str]:
    """Return the token of the option or the variable, which may be empty.

    Typer takes an empty variable for none. The settings must refuse it instead: a secret that was not filled in does
    not permit serving without a token.
    """
    return os.environ.get(TOKEN_VARIABLE) if token is None else token
