"""The deployment that a soak runs: a bucket behind a proxy, `quartermaster serve http` that follows it, and clients."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.support.processes import children, family, listens_at, peer_ports
from simulations.soak.answers import Known
from tests.support.places import ROOT

_SERVE = [sys.executable, "-c", "from quartermaster.cli.main import main; main()", "serve", "http"]
_ENDING_S = 30.0


@dataclass(frozen=True)
class Server:
    """A running `quartermaster serve http`: its first process, and the port where it listens on loopback."""

    process: subprocess.Popen[str]
    port: int

    def family(self) -> list[int]:
        """Return its processes, the first one first."""
        return family(self.process.pid)

    def workers(self) -> list[int]:
        """Return its worker processes; none where it serves from the first process alone."""
        return [pid for pid in children(self.process.pid) if listens_at(pid, self.port)]

    def get(self, path: str) -> tuple[int, str]:
        """Return status and content of a path; status 0 where the connection breaks."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def serving(self) -> int:
        """Return how many workers take requests, by the server's own metric; 0 where it has no workers."""
        return int(value_of(self.get("/metrics")[1], "quartermaster_workers "))

    def kill(self, pid: int) -> set[int]:
        """Kill a worker by SIGKILL; return the clients' ports of the connections that it held.

        It is stopped first, so that it takes no connection between the look and the kill.
        """
        os.kill(pid, signal.SIGSTOP)
        ports = peer_ports(pid, self.port)
        os.kill(pid, signal.SIGKILL)
        return ports

    def reload(self) -> None:
        """Ask for a graceful reload by SIGHUP."""
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> int:
        """End it by SIGTERM; return its exit code. Raises TimeoutExpired where it does not end within 30 s."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_ENDING_S)


def value_of(metrics: str, begin: str, part: str = "") -> float:
    """Return the sum of the metrics whose line begins so, and has a part."""
    lines = (line for line in metrics.splitlines() if line.startswith(begin) and part in line)
    return sum(float(line.rpartition(" ")[2]) for line in lines)


@contextmanager
def serving(
    snapshot: str, *options: str, environment: Mapping[str, str] | None = None, log: Path | None = None
) -> Iterator[Server]:
    """Serve a folder or an address on a free port until the block ends. `log` gets what it writes to standard error.

    Raises RuntimeError where it does not start.
    """
    command = [*_SERVE, "--snapshot", snapshot, "--port", "0", "--requests-per-minute", "0", *options]
    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(log.open("w")) if log else subprocess.DEVNULL
        process = stack.enter_context(
            subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        )
        try:
            assert process.stdout is not None
            said = process.stdout.readline()  # once it listens; nothing where it ends
            found = re.search(r" at http://127\.0\.0\.1:(\d+)", said)
            if found is None:
                raise RuntimeError(f"the server did not start: {' '.join(command)}; see {log}")
            yield Server(process, int(found.group(1)))
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End a server and whatever is below it, gently where it obeys."""
    below = family(process.pid)
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_S)
    for pid in below:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def clients(
    port: int, bodies: Sequence[Known], folder: Path, *, count: int, rate: float, seed: int, slow: bool = True
) -> Iterator[list[Path]]:
    """Run client processes until the block ends, `rate` requests a second in all; yield their journals.

    With `slow`, the last journal is that of the slow clients.
    """
    asked = folder / "bodies.json"
    asked.write_text(json.dumps([asdict(known) for known in bodies]), encoding="utf-8")
    journals = [folder / f"client-{number}.jsonl" for number in range(count)]
    commands = [
        ["client", str(port), str(asked), str(journal), "--rate", f"{rate / count}", "--seed", f"{seed + number}"]
        for number, journal in enumerate(journals)
    ]
    if slow:
        journals.append(folder / "slow.jsonl")
        commands.append(["slow_client", str(port), str(asked), str(journals[-1]), "--seed", f"{seed}"])
    running: list[subprocess.Popen[bytes]] = []
    try:
        for name, *arguments in commands:
            command = [sys.executable, "-m", f"simulations.soak.{name}", *arguments]
            running.append(subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE))
        yield journals
    finally:
        for process in running:
            assert process.stdin is not None
            process.stdin.close()
        for process in running:
            try:
                process.wait(_ENDING_S * 4)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until_asked(journals: Sequence[Path], seconds: float = 180.0) -> None:
    """Wait until each client has written a line. Raises RuntimeError where one has not within some seconds."""
    end = time.monotonic() + seconds
    while any(not path.exists() or not path.stat().st_size for path in journals):
        if time.monotonic() > end:
            raise RuntimeError(f"a client has written nothing for {seconds:g} s: {', '.join(map(str, journals))}")
        time.sleep(0.1)
