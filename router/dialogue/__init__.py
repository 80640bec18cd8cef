"""The tools of a dialogue over its turns, kept in place so that the provider's prompt cache holds.

`stable_selection` asks the router at each turn, `placement` decides which tools stay and where, and `turn` is the
result.
"""
