"""The reference pages are those of the code, and the code says what each setting, option and column means."""

from typing import Any

import pytest
import typer.main

from docs.generators.pages import GENERATORS, REFERENCE
from docs.generators.settings import SECTIONS, meanings_of
from pipeline.settings.base import Section
from pipeline.settings.catalog import CatalogSettings
from quartermaster.cli.main import app


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generated_page_is_that_of_the_code(name: str) -> None:
    committed = (REFERENCE / name).read_text(encoding="utf-8")
    assert committed == GENERATORS[name](), "run `python -m docs.generators`"


def test_the_page_of_tables_says_what_each_column_means() -> None:
    page = GENERATORS["tables.md"]()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 250 and all(len(cells) == 3 and cells[2].strip(" |") for cells in rows)
    for name in ("tools", "phrase_vectors", "neighbours", "answers", "vectors_n"):
        assert f"\n### `{name}`\n" in page


def test_every_section_is_on_the_page_of_settings_and_every_field_says_what_it_means() -> None:
    sections = {name.strip("[]") for name in SECTIONS}
    assert set(CatalogSettings.model_fields) - {"name", "folder"} <= sections
    documented: dict[str, type[Section]] = {**SECTIONS, "catalog": CatalogSettings}
    silent = {place: section.model_fields.keys() - meanings_of(section).keys() for place, section in documented.items()}
    assert {place: names for place, names in silent.items() if names} == {}


def test_every_argument_and_option_of_a_command_says_what_it_means() -> None:
    def silent(command: Any, name: str) -> list[str]:
        below = getattr(command, "commands", {}).items()
        own = [f"{name} {parameter.name}" for parameter in command.params if not getattr(parameter, "help", "")]
        return own + [each for word, part in below for each in silent(part, f"{name} {word}")]

    assert silent(typer.main.get_command(app), "quartermaster") == []
