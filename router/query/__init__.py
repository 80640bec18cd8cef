"""The query as text, before it is encoded.

`intent_detection` tells which clauses ask for something; `steps` cuts a request into its steps.
"""
