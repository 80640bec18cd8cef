"""The tools as their vendor truly has them, and how they change from day to day."""

import json
import random
from pathlib import Path

_VERBS = ("create", "cancel", "list", "export", "archive")
_THINGS = ("invoice", "ticket", "draft", "share", "refund")
_DETAILS = ("of this account", "by its id", "in one call", "for a customer", "with a filter")


class World:
    """Twenty-five tools. `tools` maps their names to their descriptions; `days` holds every day so far."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.tools = {f"{verb}_{thing}": self._text(f"{verb}_{thing}") for verb in _VERBS for thing in _THINGS}
        self.days = [dict(self.tools)]

    def pass_day(self) -> None:
        """Change a few descriptions; a tool comes, and sometimes one goes."""
        for name in self._random.sample(sorted(self.tools), 2):
            self.tools[name] = self._text(name)
        new = f"{self._random.choice(_VERBS)}_{self._random.choice(_THINGS)}_{self._random.randint(2, 999)}"
        self.tools.setdefault(new, self._text(new))
        if len(self.tools) > 26:
            del self.tools[self._random.choice(sorted(self.tools))]
        self.days.append(dict(self.tools))

    def write(self, path: Path, days_ago: int = 0) -> dict[str, str]:
        """Write the catalog's file as it is, or as it was some days ago, and return its tools."""
        tools = self.days[max(0, len(self.days) - 1 - days_ago)]
        rows = ({"name": name, "description": text} for name, text in tools.items())
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return tools

    def _text(self, name: str) -> str:
        verb, _, thing = name.partition("_")
        detail = self._random.choice(_DETAILS)
        return f"{verb.capitalize()} a {thing.replace('_', ' ')} {detail} ({self._random.randint(100, 999)})."
