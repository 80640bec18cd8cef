"""Builds under Prefect: `runtime` starts it quietly, `tasks` runs a stage as a task, `progress` reports a build."""
