"""Builds under Prefect: how it is started, a stage as a task, progress."""
