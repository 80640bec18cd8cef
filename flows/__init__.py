"""Orchestration and the command line: the only package that imports both pipeline and router. No domain logic."""
