"""Tools in the formats of providers, and the way back from a model's call. No network, no snapshot.

`formats` is the table of formats and details, `rendering` makes the tools of a request and what a model reads of found
tools, `shaping` those of one record, `names` the tools' names. `schemas` repairs schemas, `strict` makes them strict.
"""
