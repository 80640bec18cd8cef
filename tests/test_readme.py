"""The README is short, and what it names is there. tests/docs runs its code blocks."""

import re
import shlex
import subprocess

from tests.support.documents import commands
from tests.support.places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_can_be_read_in_some_minutes() -> None:
    assert len(README.splitlines()) <= 200


def test_the_readme_names_every_command_of_the_command_line() -> None:
    from flows.cli.main import app

    registered = {str(command.callback.__name__) for command in app.registered_commands if command.callback}
    registered |= {str(group.name) for group in app.registered_groups}
    shown = {shlex.split(line)[1] for line in commands(page=ROOT / "README.md") if line.startswith("quartermaster ")}
    assert shown - {"--version"} | set(re.findall(r"`quartermaster (\w+)", README)) == registered


def test_the_readme_links_to_every_page_of_the_site() -> None:
    site = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    from_the_root = {"contributing.md", "security.md", "changelog.md"}  # the site includes these
    linked = set(re.findall(r"\]\((?:docs/)?([\w./]+\.md)\)", README))
    assert site - from_the_root <= linked
    assert {name.upper().replace(".MD", ".md") for name in from_the_root} <= linked


def test_the_make_targets_that_the_readme_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^)make ([a-z]+)\b", README, re.MULTILINE))
    assert named >= {"demo", "test", "docs"}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


def test_the_project_names_no_machine_path() -> None:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT)
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    for name in names:
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".txt", ".json", ".yaml", ".ipynb", ".svg") and path.is_file():
            assert not re.search(r"/(?:home|root|Users)/\w", path.read_text(encoding="utf-8")), name
