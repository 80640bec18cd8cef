"""The command line: `main` assembles the `commands` and ends the process; `quartermaster.output` shows the results."""
