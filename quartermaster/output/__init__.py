"""Results as people read them, on a terminal or as an HTML report.

`terminal` holds the consoles and progress bars, `formatting` turns values into texts and rows into tables; each other
module shows the results of a command or two.
"""
