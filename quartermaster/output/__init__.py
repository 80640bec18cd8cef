"""Results as people read them: on a terminal, as an HTML report, as Prefect artifacts.

`terminal` holds the consoles, progress bars and tables that the others share; `formatting` turns values into texts;
`rows` lays out any query. `build`, `plan`, `sources`, `answer`, `evaluation`, `comparison`, `inspection`, `tool_page`
and `snapshots` each print one kind of result. `report` is the HTML file, `artifacts` are for Prefect.
"""
