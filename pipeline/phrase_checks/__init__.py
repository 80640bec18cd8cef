"""Checks on what models wrote: against the own record, and against the whole catalog."""
