"""Runs targets: one input against the oracle, a worker process with a corpus, workers under a watchdog, the report."""
