"""Builds under Prefect.

`runtime` starts it quietly, `tasks` runs a stage as a task, `progress` and `run_logs` tell the server, `reporting` does
without a server that is lost, `result` keeps the report, `open_runs` and `dead_runs` close runs that were killed.
"""
