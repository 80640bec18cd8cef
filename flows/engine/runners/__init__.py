"""The task runners of Prefect that settings may name. Another one is a module here and a line in `runner_of`."""

from flows.engine.runners.runner import Runner
from pipeline.settings import FlowSettings

__all__ = ["Runner", "runner_of"]


def runner_of(settings: FlowSettings) -> Runner | None:
    """Return the runner that settings name, not started; None where every task runs in the build's own process.

    Raises SettingsInvalid where its package is not installed.
    """
    if settings.runner == "threads":
        from flows.engine.runners.threads import ThreadsRunner

        return ThreadsRunner(settings)
    if settings.runner == "dask":
        from flows.engine.runners.dask import DaskRunner

        return DaskRunner(settings)
    return None
