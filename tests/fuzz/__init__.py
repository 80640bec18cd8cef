"""Fuzzers for everything that reads what others wrote: readers, requests, settings, snapshots, messages.

`mutation` makes inputs, `targets` has what is tried with them, a file for each room, `engine` runs them: oracle,
watchdog, corpus, report. `python -m tests.fuzz --minutes 60` runs all targets for an hour; `test_targets` runs each for
part of a second, and `test_failures` replays every input under `failures/`.
"""
