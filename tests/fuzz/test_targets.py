"""Every target, for part of a second: the same inputs each time. `python -m tests.fuzz` runs them for hours."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.fuzz.engine.corpus import FAILURES, Known, is_known, pinned, read_corpus, read_known
from tests.fuzz.engine.oracle import judge
from tests.fuzz.mutation import Mutator
from tests.fuzz.registry import TARGETS
from tests.fuzz.target import Resources, Run, Target

_RunOf = Callable[[Target], Run]
_KNOWN = read_known()
_CORPUS = 10  # kept inputs of a target that the gate tries; `python -m tests.fuzz` tries all


@pytest.fixture(scope="module")
def resources() -> Iterator[Resources]:
    """What all targets here share: one snapshot, built once."""
    shared = Resources()
    yield shared
    shared.close()


@pytest.fixture(scope="module")
def run_of(resources: Resources) -> _RunOf:
    """Prepare a target, once."""
    return cache(lambda target: target.prepare(resources))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_every_input_is_taken_or_refused_by_an_error_of_ours_in_time(
    target: Target, resources: Resources, run_of: _RunOf
) -> None:
    run, seeds = run_of(target), target.seed_inputs(resources)
    mutator = Mutator(target.form, Random(target.name))
    pool = [*seeds, *list(read_corpus(target.name).values())[:_CORPUS]]
    accepted = 0
    for data in (*pool[: target.gate], *(mutator.mutate(pool) for _ in range(target.gate))):
        outcome = judge(target, run, data)
        accepted += outcome.accepted
        known = outcome.finding is None or is_known(target.name, outcome.finding.signature)
        assert known, f"{outcome.finding} for {data[:1_000]!r}"
    assert accepted, "the target refused every input: nothing behind its first check was tried"


def _pinned() -> Iterator[Any]:
    expected = {name: known for known in _KNOWN for name in known.inputs}
    for path in pinned():
        name = path.relative_to(FAILURES).as_posix()
        known = expected.get(name)
        yield pytest.param(path, id=name, marks=_expected(known) if known else ())


def _expected(known: Known) -> pytest.MarkDecorator:
    return pytest.mark.xfail(reason=known.reason, run=known.replay, strict=True)


@pytest.mark.parametrize("path", list(_pinned()))
def test_an_input_that_once_failed_is_taken_or_refused(path: Path, run_of: _RunOf) -> None:
    target = TARGETS[path.parent.name]
    outcome = judge(target, run_of(target), path.read_bytes())
    assert outcome.finding is None, outcome.finding


def test_every_known_failure_names_a_target_and_pinned_inputs() -> None:
    files = {path.relative_to(FAILURES).as_posix() for path in pinned()}
    for known in _KNOWN:
        assert known.target in TARGETS
        assert known.inputs and set(known.inputs) <= files, known
