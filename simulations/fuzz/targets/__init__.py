"""What is tried, a module for each part of the program. `simulations.fuzz.registry` lists all of it."""
