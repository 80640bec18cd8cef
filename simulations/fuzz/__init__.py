"""Fuzzers for everything that reads what others wrote: readers, requests, settings, snapshots, messages.

`mutation` makes inputs, `targets` has what is tried with them, a file for each room, `engine` runs them: oracle,
watchdog, corpus, report. `python -m simulations.fuzz --minutes 60` runs all targets for an hour;
`tests/simulations/test_fuzz.py` tries a few inputs of each, and every one under `failures/`.
"""
