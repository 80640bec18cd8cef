"""examples/stable_prefix.py: a dialogue whose tools stay in place."""

from tests.examples.conftest import Run


def test_the_stable_selection_is_cached_and_costs_less(run: Run) -> None:
    lines = run("stable_prefix.py").splitlines()
    turns = [line.partition("  new: ")[0].split()[-4:] for line in lines[1:-1]]
    assert len(turns) == 6
    tokens = [int(turn[2]) for turn in turns]
    cached = [int(turn[3]) for turn in turns]
    assert cached[0] == 0 and cached[1:] == tokens[:-1]  # each turn begins with all of the one before
    afresh, stable = map(int, lines[-1].split()[-2:])
    assert stable < 0.6 * afresh
