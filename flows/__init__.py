"""Orchestration and the command line: the only room that knows both pipeline and router, and holds no domain logic."""
