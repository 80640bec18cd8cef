"""The engine: what the oracle says of an input, what is left of one when it is minimised, what the watchdog ends."""

import json
import time
from pathlib import Path

import pytest

from router.errors import SettingsInvalid
from tests.fuzz.engine import corpus
from tests.fuzz.engine.current import CurrentInput, read_current
from tests.fuzz.engine.lines import Lines
from tests.fuzz.engine.minimise import minimise
from tests.fuzz.engine.oracle import Finding, judge
from tests.fuzz.engine.report import earlier_tallies, summary, table
from tests.fuzz.engine.tally import Tally
from tests.fuzz.mutation import Form
from tests.fuzz.registry import TARGETS
from tests.fuzz.target import Run, Target


def _finding(run: Run, cpu_s: float = 5.0) -> Finding | None:
    return judge(Target("none", Form.RAW, (), lambda _: run, cpu_s=cpu_s), run, b"").finding


def test_an_error_of_ours_is_a_refusal_and_no_finding() -> None:
    def refuse(_: bytes) -> None:
        raise SettingsInvalid("no")

    assert _finding(refuse) is None


def test_any_other_error_is_a_finding_that_names_its_place() -> None:
    def fail(data: bytes) -> None:
        json.loads(data)

    found = _finding(fail)
    assert found and found.kind == "error"
    assert found.signature.startswith("JSONDecodeError at ")


def test_an_input_that_takes_too_long_is_ended_and_is_a_hang() -> None:
    def spin(_: bytes) -> None:
        while True:
            pass

    begun = time.process_time()
    found = _finding(spin, cpu_s=0.05)
    assert found and found.kind == "hang" and found.signature.startswith("Hang at ")
    assert time.process_time() - begun < 2


def test_a_broken_property_is_a_finding_of_its_own_kind() -> None:
    def broken(_: bytes) -> None:
        raise AssertionError("two tools have one id")

    found = _finding(broken)
    assert found and found.kind == "property"


def test_only_the_part_of_an_input_that_fails_is_left() -> None:
    data = b"a\n" * 200 + b'{"x": [1, 2, {"bad": 3}]}\n' + b"b\n" * 200
    assert minimise(data, lambda part: b'"bad"' in part) == b'"bad"'


def test_lines_are_new_once() -> None:
    from router.expansion import Expansion

    def read() -> None:
        Expansion.from_json({"user_phrases": ["a"]})

    lines = Lines()
    assert lines.watch(read) > 5
    assert lines.watch(read) == 0


def test_the_watchdog_reads_the_input_that_runs(tmp_path: Path) -> None:
    current = CurrentInput(tmp_path / "current")
    assert read_current(tmp_path / "current") == (0, b"")
    current.note(b"first input")
    current.note(b"second")
    assert read_current(tmp_path / "current") == (2, b"second")
    assert read_current(tmp_path / "none") == (0, b"")


def test_long_inputs_are_pinned_and_not_kept(tmp_path: Path) -> None:
    assert not corpus.keep("t", b"a" * (corpus.LONGEST + 1), tmp_path)
    assert corpus.keep("t", b"short", tmp_path)
    assert list(corpus.read_corpus("t", tmp_path).values()) == [b"short"]
    assert corpus.pin("t", "ValueError at router/text.py:read", b"x", tmp_path).name.startswith("valueerror-read-")


def test_known_failures_are_counted_apart() -> None:
    tally = Tally("t", inputs=10, seconds=2.0, findings={"ValueError at a": 2, "TypeError at b": 1, "Hang at c": 1})
    told = corpus.Known("t", "ValueError at a", "it is known")
    figures = summary([tally], [told], seed=1)
    assert figures["total"] == {"inputs": 10, "untyped": 1, "hangs": 1, "known": 2}
    assert "t: 1 × TypeError at b" in table(figures)
    assert list(earlier_tallies(json.loads(json.dumps(figures)))) == [tally]


@pytest.mark.parametrize("target", TARGETS)
def test_no_kept_input_is_longer_than_the_corpus_allows(target: str) -> None:
    assert all(len(data) <= corpus.LONGEST for data in corpus.read_corpus(target).values())
