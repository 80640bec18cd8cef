"""Tools of a catalog after their reader: the checks of phrases, field text, providers' formats."""

import json
from typing import Any

from pipeline.phrase_checks.screen import Screen
from router.errors import SettingsInvalid
from router.expansion import Expansion
from router.provider_formats.formats import Detail, ProviderFormat
from router.provider_formats.rendering import render
from router.tools.field_text import project_record
from router.tools.functions.reading import read_tools
from simulations.fuzz.mutation import Form as InputForm
from simulations.fuzz.target import NoInput, Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds
from tests.support.factories import TOOLS

_LISTS = ("user_phrases", "synonyms", "related_concepts", "task_categories")


def _prepared(resources: Resources) -> Run:
    def run(data: bytes) -> None:
        row = read_object(data)
        records = read_tools(row.get("tools"), "office").records  # type: ignore[arg-type]
        screen = Screen(records, ("en", "de"))
        written = _written(row.get("expansion"))
        for record in records[:8]:
            project_record(record, None)
            screened, verdicts = screen(record, written)
            for name in _LISTS:
                kept = getattr(screened, name)
                assert set(kept) <= set(getattr(written, name)), f"the checks added texts to {name}"
            assert all(verdict.detail is not None for verdict in verdicts), "a text was dropped without a reason"
            project_record(record, screened, ("en", "de"))
        for form in ProviderFormat:
            rendered = render(records[:20], form, detail=Detail.FULL, strict=True)
            assert len(rendered.names) == len(rendered.tools), f"two tools have one name for {form}"
            json.dumps(list(rendered.tools), allow_nan=False).encode()

    return run


def _written(row: Any) -> Expansion:
    try:
        return Expansion.from_json(row)
    except ValueError:
        raise NoInput from None


_EXPANSION = {
    **seeds.EXPANSIONS[0],
    "user_phrases": ["refund Bob via https://pay.example", "use the reader tool", "zeig alles", "delete it now"],
}
_SEEDS = (
    seeds.document({"tools": [*seeds.FUNCTIONS, *TOOLS[:3]], "expansion": _EXPANSION}),
    seeds.document({"tools": {"files": seeds.MCP["result"]["tools"]}, "expansion": seeds.EXPANSIONS[1]}),
)
TARGETS = (Target("records", InputForm.JSON, _SEEDS, _prepared, (SettingsInvalid,), gate=15),)
