"""What the documents and comments refer to is there. tests/docs runs the code blocks."""

import re
import shlex
import subprocess

import pytest

from tests.support.documents import commands
from tests.support.places import ROOT

DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKAGES = "quartermaster|router|pipeline|flows|benchmarks|simulations|tests"


def tracked(*patterns: str) -> dict[str, str]:
    """Return the texts of the project's files by their names."""
    listed = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode:
        pytest.skip("this is no git checkout")
    names = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names}


def test_every_link_of_a_document_outside_the_site_leads_to_a_file() -> None:
    """Sphinx checks those of the site."""
    broken = [
        f"{name}: {target}"
        for name in ("README.md", "benchmarks/README.md", "catalogs/README.md")
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (ROOT / name).read_text(encoding="utf-8"))
        if not target.startswith("http") and not (ROOT / name).parent.joinpath(target).exists()
    ]
    assert broken == []


def test_the_readme_links_to_every_page_of_the_site() -> None:
    site = {path.name for path in DOCS.glob("*.md")} - {"index.md"}
    from_the_root = {"contributing.md", "security.md", "changelog.md"}  # the site includes these
    linked = set(re.findall(r"\]\((?:docs/)?([\w./]+\.md)\)", README))
    assert site - from_the_root <= linked
    assert {name.upper().replace(".MD", ".md") for name in from_the_root} <= linked


def test_the_readme_names_every_command_of_the_command_line_and_make_targets_that_exist() -> None:
    from quartermaster.cli.main import app

    registered = {str(command.callback.__name__) for command in app.registered_commands if command.callback}
    registered |= {str(group.name) for group in app.registered_groups}
    shown = {shlex.split(line)[1] for line in commands(page=ROOT / "README.md") if line.startswith("quartermaster ")}
    assert shown - {"--version"} | set(re.findall(r"`quartermaster (\w+)", README)) == registered
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z]+)\b", README, re.MULTILINE))
    assert {"demo", "test", "docs"} <= named <= targets


def test_every_decision_is_listed_and_every_mention_of_one_is_a_file() -> None:
    topics = {path.name for path in (DOCS / "decisions").glob("*.md")} - {"README.md"}
    listed = set(re.findall(r"\(([\w-]+\.md)\)", (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")))
    assert listed == topics
    texts = tracked("*.py", "*.md").values()
    mentioned = {f"{name}.md" for text in texts for name in re.findall(r"docs/decisions/([\w-]+)", text)}
    assert mentioned and mentioned - {"README.md"} <= topics


def test_every_source_file_that_a_document_or_a_comment_names_exists() -> None:
    source = re.compile(rf"(?<![\w/.])((?:{PACKAGES})/[\w/]+\.(?:py|sql|toml|txt|md))")
    texts = tracked(
        "*.md",
        "quartermaster/*.py",
        "router/*.py",
        "pipeline/*.py",
        "flows/*.py",
        "benchmarks/*.py",
        "simulations/*.py",
    )
    named = {(file, path) for file, text in texts.items() for path in source.findall(text)}
    architecture = "docs/architecture.md"  # it names folders, too
    named |= {(architecture, path) for path in re.findall(rf"`((?:{PACKAGES})/[\w/.]*)`", texts[architecture])}
    assert len(named) > 30
    assert {(file, path) for file, path in named if not (ROOT / path).exists()} == set()


def test_every_test_that_a_promise_of_security_rests_on_exists() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "SECURITY.md", DOCS / "security.md")]
    named = re.findall(r"`(tests/[\w/]+\.py)`", "".join(texts))
    assert len(named) > 90
    assert {name for name in named if not (ROOT / name).is_file()} == set()


def test_the_project_names_no_machine_path() -> None:
    texts = tracked(*(f"*.{suffix}" for suffix in "py md toml txt json yaml ipynb svg".split()))
    assert [name for name, text in texts.items() if re.search(r"/(?:home|root|Users)/\w", text)] == []
