"""A host that builds: a folder with the catalog and a workspace, a key for its model, a way to the bucket."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

from simulations.cluster_month import processes
from simulations.cluster_month.workers import Workers
from simulations.month.model import Model
from simulations.month.oracle import Outcome, parse_report
from tests.pipeline.enrichment.model_server import ModelServer
from tests.support.faulty_proxy import FaultyProxy
from tests.support.object_storage import Bucket

CATALOG = "month"
CONCURRENCY = 4
GRACE_S = 20
_LONGEST_BUILD_S = 120
_SETTINGS = """
name = "{catalog}"

[publish]
to = "{url}"
keep = 3
grace = "{grace_s}s"

[vectors]
encoder = "none"

[tuning]
calibrate = false

[ledger]
backups = 0

[enrichment]
concurrency = {concurrency}
max_retries = 1
retry_delay_s = 0.01
timeout_s = 5

[[source]]
provider = "office"
format = "jsonl"
path = "tools.jsonl"
"""


@dataclass
class Builder:
    """One of the builders.

    Attributes:
        name: What messages call it.
        folder: Its host's disk. Nothing else is on it.
        url: The catalog in the bucket.
        proxy: Its way to the bucket, with the faults that it meets.
        bucket: The bucket as seen through that proxy.
        model: The model that it asks, with what it answered.
        server: The model's server.
        tools: The tools that it last read.
    """

    name: str
    folder: Path
    url: str
    proxy: FaultyProxy
    bucket: Bucket
    model: Model
    server: ModelServer
    tools: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.catalog = self.folder / CATALOG
        self.catalog.mkdir(parents=True)
        settings = _SETTINGS.format(catalog=CATALOG, url=self.url, grace_s=GRACE_S, concurrency=CONCURRENCY)
        (self.catalog / "catalog.toml").write_text(settings, encoding="utf-8")
        self._process: BaseProcess | None = None

    @property
    def source(self) -> Path:
        """The file that the catalog's tools are read from."""
        return self.catalog / "tools.jsonl"

    def start_build(self, workers: Workers | None = None) -> None:
        """Start `quartermaster build` as a process, on workers if there are some; `end` waits for it."""
        variables = {
            **self.bucket.environment,
            "OPENAI_BASE_URL": self.server.base_url,
            "OPENAI_API_KEY": "sk-loopback",
            "XDG_STATE_HOME": str(self.folder / "state"),
            "COLUMNS": "200",
            **(workers.variables if workers else {}),
        }
        options = ("--flow",) if workers else ()
        arguments = ("build", str(self.catalog), "--workspace", str(self.folder / "workspace"), "--json", *options)
        self._process = processes.start(_run_command, self.folder, variables, arguments, *self._streams)

    def kill(self) -> None:
        """Kill the build, as a lost host does."""
        if self._process is not None and self._process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    def end(self) -> Outcome:
        """Wait for the build and return how it ended. One that takes two minutes is killed, as its host would be."""
        assert self._process is not None
        self._process.join(_LONGEST_BUILD_S)
        stuck = self._process.is_alive()
        self.kill()
        self._process.join()
        code, self._process = self._process.exitcode, None
        stdout, stderr = (path.read_text(encoding="utf-8", errors="replace") for path in self._streams)
        if stuck:
            stderr += f"\nTraceback: it had not ended after {_LONGEST_BUILD_S} s"
        return Outcome(-1 if code is None else code, stdout, stderr, parse_report(stdout))

    @property
    def _streams(self) -> tuple[Path, Path]:
        return self.folder / "stdout", self.folder / "stderr"


def _run_command(
    folder: Path, variables: Mapping[str, str], arguments: Sequence[str], stdout: Path, stderr: Path
) -> None:
    """Run the command line in this process, which was started for it."""
    processes.settle(folder, variables)
    for number, path in ((1, stdout), (2, stderr)):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
    sys.argv = ["quartermaster", *arguments]
    from quartermaster.cli.main import main

    main()
