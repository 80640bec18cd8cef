"""The reference pages that are generated from the code."""

from typing import Any

import pytest
import typer.main

from docs.generators.pages import REFERENCE, pages
from docs.generators.settings import SECTIONS
from flows.cli.main import app
from pipeline.settings.catalog import CatalogSettings


@pytest.mark.parametrize("name", pages())
def test_a_generated_page_is_that_of_the_code(name: str) -> None:
    committed = (REFERENCE / name).read_text(encoding="utf-8")
    assert committed == pages()[name], "run `python -m docs.generators`"


def test_every_field_of_the_settings_says_what_it_means() -> None:
    silent = [
        f"{place} {name}"
        for place, section in SECTIONS.items()
        for name, field in section.model_fields.items()
        if not field.description
    ]
    silent += [name for name, field in CatalogSettings.model_fields.items() if not field.description]
    assert silent == []


def test_every_section_of_a_catalog_is_on_the_page_of_settings() -> None:
    sections = {name.strip("[]") for name in SECTIONS}
    fields = set(CatalogSettings.model_fields) - {"name", "folder"}
    assert fields <= sections


def test_every_argument_and_option_of_a_command_says_what_it_means() -> None:
    def silent(command: Any, name: str) -> list[str]:
        below = [
            each for word, part in getattr(command, "commands", {}).items() for each in silent(part, f"{name} {word}")
        ]
        return below + [
            f"{name} {parameter.name}" for parameter in command.params if not getattr(parameter, "help", "")
        ]

    assert silent(typer.main.get_command(app), "quartermaster") == []
