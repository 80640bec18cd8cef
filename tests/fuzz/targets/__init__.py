"""What is tried, a module for each part of the program. `tests.fuzz.registry` lists all of it."""
