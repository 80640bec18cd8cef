"""Several processes behind one socket: each opens the snapshot, whose pages they share, under a supervisor.

The supervisor (`supervisor`, `worker_process`, `restarts`, `wake_up`) starts, watches, replaces and ends the workers
(`worker`, `channel`). They speak in `messages`, and share `run_folder`: the counts of `exposition`, and `busy_clients`.
See docs/decisions/0113-workers.md.
"""

from quartermaster.serving.http.workers.supervisor import serve_workers
from quartermaster.serving.http.workers.worker import OpenServed

__all__ = ["OpenServed", "serve_workers"]
