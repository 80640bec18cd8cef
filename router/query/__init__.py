"""A query as text: its steps, and what it intends."""
