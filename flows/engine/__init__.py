"""Builds under Prefect.

`runtime` starts it quietly, `stage` makes a task of a stage, `tasks` runs it in this process or on `workers`, which
`runners` start and which share `storage` with the build. `progress` and `run_logs` tell the server, `reporting` does
without a server that is lost, `result` keeps the report, `open_runs` and `dead_runs` close runs that were killed.
"""
