"""Builds under Prefect: tasks, progress, artifacts."""
