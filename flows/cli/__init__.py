"""The command line: `commands` read arguments and call the build or the router; `flows.output` shows the results."""
