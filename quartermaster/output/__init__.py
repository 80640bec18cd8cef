"""Results as people read them: on a terminal, or as an HTML report.

`terminal` holds the consoles, progress bars and tables that the others share; `formatting` turns values into texts;
`rows` lays out any query. Each other module prints one kind of result; `report` is the HTML file.
"""
