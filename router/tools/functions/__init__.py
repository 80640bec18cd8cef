"""The tools of a Python program, read into records, with the function to call for each.

`reading` reads lists of tools of any kind; `signatures` and `schemas` describe a Python function; `calling` calls it
with a model's arguments, which `binding` converts.
"""
