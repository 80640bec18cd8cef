"""The locks: they hold what pyproject.toml asks for, by hash, in one set of versions, wherever it is installed from."""

import re
import tomllib
from functools import cache

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.support.places import ROOT

LOCKS = {
    "serve": {"bucket", "serve"},
    "build": {"build", "serve"},
    "nightly": {"bucket", "build", "dask", "evaluation", "flows"},
    "docs": {"docs"},
    "development": None,  # every extra
}
SINGLE = ("setuptools", "uv", "weights")
APART = ("claude-agent-sdk", "compare", "google-adk")  # in environments of their own
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def text_of(lock: str) -> str:
    return (ROOT / "requirements" / f"{lock}.lock").read_text(encoding="utf-8")


@cache
def pinned(lock: str) -> dict[str, set[Version]]:
    """The versions of each package of a lock; several where they differ by Python or platform."""
    versions: dict[str, set[Version]] = {}
    for line in re.findall(r"^([a-z0-9].*?) \\$", text_of(lock), re.MULTILINE):
        requirement = Requirement(line)
        (only,) = requirement.specifier
        assert only.operator == "==", line
        versions.setdefault(requirement.name, set()).add(Version(only.version))
    return versions


@pytest.mark.parametrize(("lock", "extras"), LOCKS.items())
def test_a_lock_holds_what_its_extras_ask_for(lock: str, extras: set[str] | None) -> None:
    optional = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *(line for name in extras or optional for line in optional[name])]
    requirements = [requirement for requirement in map(Requirement, asked) if requirement.name != "torch"]
    assert len(requirements) > 10
    assert {
        str(requirement)
        for requirement in requirements
        if not any(requirement.specifier.contains(version) for version in pinned(lock).get(requirement.name, ()))
    } == set()


@pytest.mark.parametrize("lock", [*LOCKS, *SINGLE, *APART])
def test_every_line_of_a_lock_has_hashes_and_none_names_where_it_comes_from(lock: str) -> None:
    package, digest = r"[a-z0-9].* \\", r"    --hash=sha256:[0-9a-f]{64}"
    block = re.compile(rf"{package}\n({digest} \\\n)*{digest}\n")
    assert re.fullmatch(r"(#.*\n)*", block.sub("", text_of(lock)))


def test_a_smaller_lock_has_the_versions_of_the_development_lock_and_none_has_torch() -> None:
    development, brought = pinned("development"), re.compile(r"torch|triton|nvidia-.*|cuda-.*")
    for lock in (*LOCKS, *SINGLE):
        assert {name for name, versions in pinned(lock).items() if not versions <= development[name]} == set(), lock
        assert lock == "weights" or [name for name in pinned(lock) if brought.fullmatch(name)] == [], lock


def test_whatever_builds_the_project_takes_the_locked_setuptools_and_every_other_install_of_make_a_lock() -> None:
    (locked,) = pinned("setuptools")["setuptools"]
    (wanted,) = map(Requirement, tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"])
    assert wanted.name == "setuptools" and locked in wanted.specifier
    makefile = re.sub(r"^#.*\n|\\\n", "", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    installs = re.findall(r"pip install [^\n]*|\(call install,[^\n]*", makefile)
    assert len(installs) > 5
    unlocked = [line for line in installs if "--require-hashes" not in line and "$(2)" not in line]
    built = [line for line in unlocked if "-e ." in line]
    assert all("--no-build-isolation" in line or "requirements/setuptools.lock" in line for line in built)
    # torch's build depends on the machine; the frameworks beside the project are pinned by version.
    assert [line for line in unlocked if "$(TORCH)" not in line and line not in built] == []
