"""Mutations that a room's tests must catch: what licenses a shorter suite."""
