"""The lists of mutations fit the source as it stands: `python -m tests.mutations` tries them."""

import pytest

from tests.mutations.mutation import names, read, source
from tests.support.places import ROOT


@pytest.mark.parametrize("name", names())
def test_each_mutation_changes_one_place_and_names_tests_that_exist(name: str) -> None:
    for mutation in read(name):
        assert mutation.applied(source(mutation)) != source(mutation)
        assert all((ROOT / place).exists() for place in mutation.tests), mutation
        assert mutation.breaks
