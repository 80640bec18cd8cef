"""Tasks on the workers of a Ray cluster: one on this machine that ends with the build, or one that runs already."""

import logging
from typing import Any

from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture

from flows.engine.runners.runner import Runner
from pipeline.errors import SettingsInvalid, WorkersLost
from pipeline.settings import FlowSettings
from router.distribution import install_command
from router.process import cores

try:
    import ray
    from prefect_ray.task_runners import RayTaskRunner
    from ray.exceptions import RayError
except ImportError as error:
    raise SettingsInvalid(f"flow.runner = 'ray' needs Ray: {install_command('ray')}") from error


class RayRunner(Runner):
    """Runs tasks on Ray's workers. Ray does a task again whose worker is lost, three times at most."""

    def __init__(self, settings: FlowSettings) -> None:
        self._address = settings.ray_address
        own: dict[str, Any] = {"num_cpus": settings.workers or cores(), "include_dashboard": False}
        quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
        self.tasks: Any = RayTaskRunner(self._address, {**quiet, **({} if self._address else own)})

    def start(self) -> None:
        """Do nothing: the task runner has started Ray, or connected to it, when it was entered."""
        if not ray.is_initialized():
            raise WorkersLost(f"Ray at {self._address or 'this machine'} does not answer: start it and build again")

    def width(self) -> int:
        """Return the number of the cluster's cores, as of now."""
        return int(ray.cluster_resources().get("CPU", 0))

    def final_state(self, future: PrefectFuture[Any]) -> State[Any]:
        """Return the final state of a task that has ended. Raises what Ray says of one that was lost."""
        wrapped: Any = future
        state: State[Any] = ray.get(wrapped.wrapped_future)
        return state

    def cancel(self, future: PrefectFuture[Any]) -> None:
        """Let go of a task. One that has begun is interrupted."""
        wrapped: Any = future
        ray.cancel(wrapped.wrapped_future)

    def loss(self, error: Exception) -> str | None:
        """Return what became of a task whose workers or cluster are lost."""
        if isinstance(error, RayError):
            return f"was lost by Ray ({type(error).__name__}): give each worker more memory, or look at the cluster"
        return None
