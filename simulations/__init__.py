"""Simulations: what a gate of minutes cannot show. Each runs for as long as it is told to, checks, and exits with 1.

`month` plays nightly builds with faults, `cluster_month` builders, a bucket and a fleet of routers, `cluster` kills the
parts of a Dask cluster, `soak` loads a deployment while its parts fail, `fuzz` tries mutated inputs with all readers.
`python -m simulations.month --help` says what one takes; tests/simulations/ runs a short form of each.
"""
