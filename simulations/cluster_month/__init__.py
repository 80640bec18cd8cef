"""A simulated month on a cluster: two builders, a bucket that fails, a fleet of router processes, and an oracle.

`plan` draws what goes wrong in which night. `world` holds the tools as they truly are, `builder` runs the command line
as a scheduler on a host would, `replica` is a router's process and `fleet` eight of them. `chain` reads from the log of
the proxies what CURRENT has held, `bucket` what lies in the bucket, `oracle` says what must hold after each night, and
`simulation` puts them together. `python -m simulations.cluster_month --nights 30 --seed 1` plays one month.

`publishers` lets several builders publish at once, round after round: `python -m simulations.cluster_month.publishers`.
"""
