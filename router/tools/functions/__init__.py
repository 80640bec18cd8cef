"""The tools of a Python program, read into records, with the function to call for each.

`reading` reads lists of tools of any kind; `signatures` describes a Python function and fits a model's arguments to it;
`schemas` turns annotations into JSON Schema; `calling` looks functions up by tool id.
"""
