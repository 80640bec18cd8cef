"""A simulated month of nightly builds: faulty vendors, a faulty model, kills and clocks; an oracle checks each night.

`vendors` and `model` are the servers that a build asks, `evenings` how a model answers badly, `plan` draws what goes
wrong in which night, `night` runs the command line as cron would, `oracle`, `twin`, `churn` and `schedulers` say what
must hold afterwards, `simulation` puts them together.
`python -m simulations.month --nights 30 --seed 1` plays one month; tests/simulations/ plays a short one.
"""
