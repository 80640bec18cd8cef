"""The offline build, stage by stage in the order of the data.

sources → records → enrichment → documents → lexical, vectors → inspection → publish. A stage imports the types of
stages before it, never of one after it; `build` is the whole as one function.
"""
