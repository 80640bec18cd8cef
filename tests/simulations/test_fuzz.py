"""Every target of the fuzzers, the same inputs each time: few in the gate, more at night, hours by the command."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from router.errors import SettingsInvalid
from simulations.fuzz.engine.corpus import FAILURES, is_known, pinned, read_corpus, read_known
from simulations.fuzz.engine.oracle import judge
from simulations.fuzz.mutation import Form, Mutator
from simulations.fuzz.registry import TARGETS
from simulations.fuzz.target import Resources, Run, Target

_RunOf = Callable[[Target], Run]
_KNOWN = read_known()
_of_every_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


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


def _accepted(target: Target, run: Run, pool: list[bytes], mutated: int) -> int:
    """Try each input of the pool and some mutated ones; return how many were accepted."""
    mutator = Mutator(target.form, Random(target.name))
    accepted = 0
    for data in (*pool, *(mutator.mutate(pool) for _ in range(mutated))):
        outcome = judge(target, run, data)
        accepted += outcome.accepted
        known = outcome.finding is None or is_known(target.name, outcome.finding.signature)
        assert known, f"{outcome.finding} for {data[:1_000]!r}"
    return accepted


@_of_every_target
def test_a_few_inputs_are_taken_or_refused_by_an_error_of_ours_in_time(
    target: Target, resources: Resources, run_of: _RunOf
) -> None:
    few = max(2, target.gate // 8)
    pool = [*target.seed_inputs(resources)[:few], *list(read_corpus(target.name).values())[:few]]
    assert _accepted(target, run_of(target), pool, few), "it refused all: nothing behind its first check was tried"


@pytest.mark.nightly
@_of_every_target
def test_every_kept_input_is_taken_or_refused_by_an_error_of_ours_in_time(
    target: Target, resources: Resources, run_of: _RunOf
) -> None:
    pool = [*target.seed_inputs(resources), *read_corpus(target.name).values()]
    assert _accepted(target, run_of(target), pool, 2 * target.gate)


def _pinned() -> Iterator[Any]:
    expected = {name: known for known in _KNOWN for name in known.inputs}
    for path in pinned():
        name = path.relative_to(FAILURES).as_posix()
        known = expected.get(name)
        fails = pytest.mark.xfail(reason=known.reason, run=known.replay, strict=True) if known else ()
        yield pytest.param(path, id=name, marks=fails)


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


def _raising(error: Exception) -> Run:
    def run(_: bytes) -> None:
        raise error

    return run


def _spin(_: bytes) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("run", "kind", "signature"),
    [
        (_raising(SettingsInvalid("no")), "", ""),
        (_raising(ValueError("not ours")), "error", "ValueError at "),
        (_raising(AssertionError("two tools have one id")), "property", ""),
        (_spin, "hang", "Hang at "),
    ],
)
def test_a_foreign_error_a_broken_property_and_a_hang_are_findings_and_a_refusal_is_none(
    run: Run, kind: str, signature: str
) -> None:
    finding = judge(Target("none", Form.RAW, (), lambda _: run, cpu_s=0.05), run, b"").finding
    assert (finding.kind if finding else "") == kind
    assert (finding.signature if finding else "").startswith(signature)
