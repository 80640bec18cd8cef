"""The Dask runner, without a cluster."""

import logging

from flows.engine.runners import runner_of
from pipeline.settings import FlowSettings


def test_dask_writes_no_traceback_of_a_lost_scheduler_on_the_terminal() -> None:
    logging.getLogger("distributed.client").setLevel(logging.WARNING)  # as Dask does when it is imported
    runner_of(FlowSettings(runner="dask", dask_address="tcp://127.0.0.1:9"))
    assert not logging.getLogger("distributed.client").isEnabledFor(logging.ERROR)
