"""What a reader must follow is counted: named functions of the project, each once."""

from benchmarks.walks import package_of, walked
from router.query.steps import find_steps
from tests.support.places import ROOT


def test_a_walk_counts_named_functions_of_the_project_once() -> None:
    once = walked(lambda: find_steps("refund the customer"))
    twice = walked(lambda: [find_steps("refund the customer") for _ in range(2)])
    assert once == twice
    assert once["functions"] == sum(once["by package"].values()) >= 1
    assert set(once["by package"]) == {"router"}


def test_what_lies_elsewhere_does_not_count() -> None:
    assert walked(lambda: sorted("ba"))["functions"] == 0
    assert package_of(str(ROOT / "router" / "text.py")) == "router"
    assert package_of(str(ROOT / "tests" / "conftest.py")) is package_of("/usr/lib/python3/json.py") is None
