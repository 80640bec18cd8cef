"""A soak: a deployment under load, with kills, outages, slow clients and publications; each answer is checked.

`deployment` starts the parts, `course` does what is planned, `client` and `slow_client` ask as processes of their own,
`judging` says what must not be, `figures` sums up. `threads` is the same in one process, over a router.
"""
