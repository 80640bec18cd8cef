"""What documents and comments refer to is there."""

import re
import subprocess

from tests.support.places import ROOT

DOCS = ROOT / "docs"


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, cwd=ROOT)
    files = [*ROOT.rglob("*")] if listed.returncode else [ROOT / name for name in listed.stdout.splitlines()]
    return [path.relative_to(ROOT).as_posix() for path in files if path.is_file()]


def test_every_link_of_a_document_outside_the_site_leads_to_a_file() -> None:
    """Sphinx checks those of the site."""
    broken = [
        f"{name}: {target}"
        for name in ("README.md", "benchmarks/README.md", "catalogs/README.md")
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (ROOT / name).read_text(encoding="utf-8"))
        if not target.startswith("http") and not (ROOT / name).parent.joinpath(target).exists()
    ]
    assert broken == []


def test_every_place_that_the_architecture_names_exists() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    places = set(re.findall(r"`((?:router|pipeline|flows|tests|simulations)/[\w/.]*)`", text))
    assert len(places) > 5
    assert {place for place in places if not (ROOT / place).exists()} == set()


def test_every_decision_is_listed_and_every_mention_of_one_is_a_file() -> None:
    records = {path.name for path in (DOCS / "decisions").glob("0*.md")}
    listed = set(re.findall(r"\((0\d{3}-[\w-]+\.md)\)", (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")))
    assert listed == records
    assert sorted(name[:4] for name in records) == [f"{number:04d}" for number in range(1, len(records) + 1)]
    mentioned = {
        f"{name}.md"
        for file in tracked("*.py", "*.md")
        for name in re.findall(r"docs/decisions/(0\d{3}-[\w-]+)", (ROOT / file).read_text(encoding="utf-8"))
    }
    assert mentioned and mentioned <= records


def test_every_source_file_that_a_document_or_a_comment_names_exists() -> None:
    named = {
        (file, path)
        for file in tracked("*.md", "router/*.py", "pipeline/*.py", "flows/*.py", "benchmarks/*.py", "simulations/*.py")
        for path in re.findall(
            r"(?<![\w/.])((?:router|pipeline|flows|benchmarks|simulations|tests)/[\w/]+\.(?:py|sql|toml|txt|md))",
            (ROOT / file).read_text(encoding="utf-8"),
        )
    }
    assert len(named) > 30
    assert {(file, path) for file, path in named if not (ROOT / path).exists()} == set()
