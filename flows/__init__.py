"""Builds as Prefect flows: the flow, its tasks and states, its artifacts, its deployment and schedule."""
