"""The command line: `commands` read arguments, `output` shows results, `report` draws pages."""
