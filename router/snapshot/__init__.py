"""A snapshot opened: its files, its records, tools registered over it, and the next one that replaces it."""
