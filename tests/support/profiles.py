"""A file of profiles and tokens, as an operator writes it."""

import textwrap
from pathlib import Path

from quartermaster.serving.tokens import token_digest

ALICE, BOB, ROOT_TOKEN = "alice-0123456789abcdef", "bob-0123456789abcdefgh", "root-0123456789abcdefg"
FILE = f"""
    [profiles.support]
    selection = {{ providers = ["stripe", "slack"], block = ["*list*"] }}
    call = false
    limit = 3

    [profiles.dev]
    selection = {{ providers = ["linear", "github"] }}

    [profiles.all]
    selection = {{}}

    [tokens.alice]
    profile = "support"
    sha256 = "{token_digest(ALICE)}"

    [tokens.bob]
    profile = "dev"
    sha256 = "{token_digest(BOB)}"

    [tokens.root]
    profile = "all"
    sha256 = "{token_digest(ROOT_TOKEN)}"
    changes = true
    """
SUPPORT = {"stripe/create_refund", "slack/chat_postMessage"}


def written(path: Path, text: str = FILE, first: str = "") -> Path:
    """Write a file of profiles; `first` are lines before its tables."""
    path.write_text(f"{first}\n{textwrap.dedent(text)}", encoding="utf-8")
    return path
