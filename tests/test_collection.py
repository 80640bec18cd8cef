"""Every test is run by one of the two tiers: a folder's name never hides any."""

import pytest

from tests.plugins.tiers import COLLECTED


def test_every_test_file_that_was_asked_for_yields_a_test(request: pytest.FixtureRequest) -> None:
    config = request.config
    asked = [(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args]
    files = {file for place in asked for file in ([place] if place.is_file() else place.rglob("test_*.py"))}
    if config.getoption("--changed"):
        pytest.skip("--changed leaves files out")
    collected = config.stash[COLLECTED]
    assert files - collected == set()
