"""The tools of a Python program, read into records, with the function to call for each.

`reading` reads lists of tools of any kind, `modules` the functions of a module; `signatures` describes a function and
binds a model's arguments to it. `schemas` turns annotations into JSON Schema and `values` JSON into what they promise,
both by `annotations`. `calling` looks functions up by tool id.
"""
