"""Expansions from a lexicon: deterministic, free, offline, and weaker than a model's.

The lexicon (`lexicon.toml`) lists the words that people use for the verbs and nouns of APIs. It knows only a tool's
name, provider and first sentence, so it cannot invent an outcome ("my card was declined") that shares no word with
them. Phrases that do not read naturally are left out. `expanding` makes the expansion, `naming` parses names,
`grammar` inflects nouns.
"""

from typing import TYPE_CHECKING

from router.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from router.tools.lexicon.expanding import expand, lexicon_version
else:
    __getattr__, __dir__ = lazy_exports(__name__, {"router.tools.lexicon.expanding": "expand lexicon_version"})

__all__ = ["expand", "lexicon_version"]
