"""Read of /proc what processes hold and use: memory, open files, threads, CPU time, connections. Linux only."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SIZES = {"Rss": "rss", "Pss": "pss", "Private_Dirty": "own"}
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Held:
    """What one process holds.

    Attributes:
        rss: MB of all pages that it has mapped.
        pss: MB, each page divided by the processes that share it: the sum over processes is what they take together.
        own: MB of pages that it has written and shares with nobody: what one more such process takes. Pages of mapped
            files are not among them.
        files: Open file descriptors.
        threads: Threads.
    """

    rss: float
    pss: float
    own: float
    files: int
    threads: int


def held(pid: int) -> Held | None:
    """Return what a process holds; None where it has ended."""
    process = Path(f"/proc/{pid}")
    sizes = dict.fromkeys(_SIZES.values(), 0.0)
    try:
        for row in (process / "smaps_rollup").read_text().splitlines():
            name, _, size = row.partition(":")
            if name in _SIZES:
                sizes[_SIZES[name]] = int(size.split()[0]) / 1024
        files, threads = (len(os.listdir(process / name)) for name in ("fd", "task"))
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Held(**{name: round(size, 1) for name, size in sizes.items()}, files=files, threads=threads)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that have not been waited for, in the order of their ids."""
    found: list[int] = []
    for task in _listed(Path(f"/proc/{pid}/task")):
        try:
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return sorted(found)


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    return [pid, *(below for child in children(pid) for below in family(child))]


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the CPU time that living processes have used so far, in user and kernel mode."""
    total = 0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += int(fields[11]) + int(fields[12])  # utime and stime, which proc(5) counts from 1, with two before them
    return total / _TICKS


def peer_ports(pid: int, port: int) -> set[int]:
    """Return the ports of the clients whose connections to a local port a process holds; none where it has ended."""
    return {remote for remote in _peers(pid, port) if remote}


def listens_at(pid: int, port: int) -> bool:
    """Return whether a process holds a socket that listens at a local port."""
    return 0 in _peers(pid, port)


def _peers(pid: int, port: int) -> Iterator[int]:
    """Yield the other end's port of each TCP socket that a process has at a local port; 0 for one that listens."""
    sockets = {link.removeprefix("socket:[").removesuffix("]") for link in _links(pid) if link.startswith("socket:[")}
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = row.split()
            local, remote = (int(address.rpartition(":")[2], 16) for address in fields[1:3])
            if local == port and fields[9] in sockets:
                yield remote


def _links(pid: int) -> Iterator[str]:
    for name in _listed(Path(f"/proc/{pid}/fd")):
        try:
            yield os.readlink(f"/proc/{pid}/fd/{name}")
        except (FileNotFoundError, ProcessLookupError):
            continue


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, ProcessLookupError):
        return []
