"""The command line: `main` assembles the `commands` and ends the process; `flows.output` shows the results."""
