"""Reads tool definitions of any vendor into records, by the same rules at build time and at run time.

`vendors` reads one definition into a `raw_tool`, which is normalized to a record; `schemas` and `types` turn its
parameters into JSON Schema, and `rows` flattens that; `nesting` finds the definitions in a document; `reading` puts
them together.
"""
