"""Eight router processes: some share a cache folder, some have their own."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from router.contract import CATALOG_DB, MANIFEST
from simulations.cluster_month.replica import Replica, Status

CACHES = ("a", "a", "b", "b", "b", "c", "d", "e")
_CONVERGES_S = 45.0


class Fleet:
    """The routers of a catalog."""

    def __init__(self, folder: Path, url: str, variables: Mapping[str, str], caches: Sequence[str] = CACHES) -> None:
        self.replicas = [Replica(number, url, folder / name, variables) for number, name in enumerate(caches)]

    def start(self) -> list[str]:
        """Start those that do not run, at once, and return why some did not open."""
        asleep = [replica for replica in self.replicas if not replica.running]
        for replica in asleep:
            replica.start()
        return [f"{replica} did not open: {replica.failure}" for replica in asleep if not replica.ready()]

    def sharing(self, struck: Replica) -> list[Replica]:
        """Return the routers that share a router's cache, itself among them."""
        return [replica for replica in self.replicas if replica.cache == struck.cache]

    def stop(self, *replicas: Replica) -> None:
        """Kill some routers; all of them where none is named."""
        for replica in replicas or self.replicas:
            replica.stop()

    def wait_for(self, snapshot: str | None) -> dict[int, Status]:
        """Wait until every running router serves a snapshot, or too long; return what each serves, by its number."""
        end = time.monotonic() + _CONVERGES_S
        waiting = {replica.number: replica for replica in self.replicas if replica.running}
        found: dict[int, Status] = {}
        while waiting and time.monotonic() < end:
            for number, replica in list(waiting.items()):
                try:
                    status = replica.ask()
                except (EOFError, OSError):
                    replica.stop()
                    del waiting[number]
                    found.pop(number, None)
                    continue
                before = found.get(number)
                warnings = (*before.warnings, *status.warnings) if before else status.warnings
                found[number] = status.with_warnings(warnings)
                if status.snapshot == snapshot:
                    del waiting[number]
            time.sleep(0.05)
        return found


def damage(cache: Path) -> str:
    """Flip a bit in the largest file that routers read of each snapshot of a cache, and return those files' names.

    They do not read `catalog.duckdb`: `quartermaster pull` verifies it.
    """
    told = []
    for manifest in sorted(cache.rglob("manifest.json")):
        unread = {MANIFEST, CATALOG_DB}
        files = [path for path in manifest.parent.rglob("*") if path.is_file() and path.name not in unread]
        path = max(files, key=lambda path: (path.stat().st_size, str(path)))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.unlink()  # written into, it would change for who has it open, and for every link to it
        path.write_bytes(data)
        told.append(str(path.relative_to(cache)))
    return ", ".join(told)


def empty(cache: Path) -> None:
    """Remove everything in a cache, whatever its mode.

    A folder is moved away first: a router that writes into it meanwhile would keep it from being removed.
    """
    gone = cache.with_name(f"{cache.name}.gone")
    cache.chmod(0o755)
    for path in sorted(cache.iterdir()):
        if not path.is_dir() or path.is_symlink():
            path.unlink()
            continue
        path.chmod(0o755)
        path.rename(gone)
        for inner in gone.rglob("*"):
            if inner.is_dir() and not inner.is_symlink():
                inner.chmod(0o755)
        shutil.rmtree(gone)
