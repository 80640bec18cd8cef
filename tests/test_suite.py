"""The suite itself: nothing that is named is missing, and a folder's name never hides a test from both tiers."""

import sys
from pathlib import Path

import pytest
import yaml

from tests.mutations.mutation import names, read, source
from tests.plugins.tiers import COLLECTED
from tests.support.places import ROOT


def test_every_test_file_that_was_asked_for_yields_a_test(request: pytest.FixtureRequest) -> None:
    config = request.config
    if config.getoption("--changed"):
        pytest.skip("--changed leaves files out")
    asked = [(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args]
    files = {file for place in asked for file in ([place] if place.is_file() else place.rglob("test_*.py"))}
    collected = config.stash[COLLECTED]
    assert files - collected == set()


def test_the_places_that_the_test_run_names_exist() -> None:
    from tests.conftest import GROUPS, LONGEST

    places = {place for group in (*GROUPS.values(), LONGEST) for place in group}
    assert {place for place in places if not (ROOT / place).exists()} == set()


@pytest.mark.parametrize("name", names())
def test_each_mutation_changes_one_place_and_names_tests_that_exist(name: str) -> None:
    for mutation in read(name):
        assert mutation.applied(source(mutation)) != source(mutation)
        assert all((ROOT / place).exists() for place in mutation.tests), mutation
        assert mutation.breaks


def test_the_hooks_of_a_commit_are_programs_of_the_environment_and_download_nothing() -> None:
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    for hook in [hook for repository in repositories for hook in repository["hooks"]]:
        folder, _, program = hook["entry"].split()[0].rpartition("/")
        assert (hook["language"], folder) == ("system", ".venv/bin"), hook["id"]
        assert (Path(sys.executable).parent / program).is_file(), hook["id"]
