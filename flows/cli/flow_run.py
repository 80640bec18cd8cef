"""A build as a flow in this process, from the command line."""

from pathlib import Path
from typing import Any

from flows.engine.runtime import check_server, quiet
from pipeline.build.report import BuildReport
from pipeline.progress import Progress


def run_flow(screen: Progress, path: Path, workspace: Path, **parameters: Any) -> BuildReport:
    """Run the build as a flow in this process, on the server that Prefect is configured with, else on one of its own
    that ends with it. `parameters` are the flow's others. Raises what the build raises."""
    screen.start("engine", None)
    quiet(at_terminal=True)
    check_server()
    from flows.build_catalog import build_catalog
    from flows.engine.progress import watched_by

    with watched_by(screen):
        report = build_catalog(str(path), str(workspace), **parameters)
    if not isinstance(report, BuildReport):
        raise TypeError(f"the flow returned {report!r}, not a BuildReport")
    return report
