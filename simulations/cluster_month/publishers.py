"""Builders that publish at once, round after round, through a bucket that loses answers.

`python -m simulations.cluster_month.publishers --rounds 200 --seed 1` plays them, and exits with 1 where a publication
was lost or mixed.
"""

import argparse
import hashlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import obstore

from simulations.cluster_month import processes
from simulations.cluster_month.builder import CATALOG
from simulations.cluster_month.chain import KEPT, chain_violations, publications, read_chain
from tests.support.faults import Fault
from tests.support.faulty_proxy import FaultyProxy, faulty_proxy
from tests.support.object_storage import Bucket, ObjectStorage, object_storage_server

PUBLISHERS = 3
_ANSWER_S = 120
_ONE_FILE = "marker.txt"
_SNAPSHOT = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")


def _faults() -> list[Fault]:
    """Return what CURRENT and the other objects meet in every round."""
    return [
        Fault("lost answer", "PUT", KEPT, share=0.15),
        Fault("failed answer", "PUT", KEPT, share=0.15),
        Fault("error", "PUT", share=0.05),
        Fault("cut answer", "GET", share=0.05),
    ]


@dataclass
class Tally:
    """What came of some rounds.

    Attributes:
        published: Snapshots whose publishers were told that they serve.
        refused: By the reason, how often a publisher was told that its snapshot does not serve.
        current: How often a snapshot became the current one.
        faults: By kind, how many requests met one.
        violations: The promises that were broken.
    """

    published: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    current: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = "".join(f"\n  ✗ {violation}" for violation in self.violations)
        why = "".join(f"\n  not published, {count} times: {reason}" for reason, count in self.refused.most_common(5))
        return (
            f"{len(self.published)} told published, {self.current} publications in CURRENT, "
            f"{sum(self.faults.values())} faults, {len(self.violations)} promises broken{why}{told}"
        )


def play(folder: Path, storage: ObjectStorage, rounds: int, seed: int) -> Tally:
    """Let publishers publish at once, so many times, and return what came of it."""
    bucket, tally = storage.new_bucket(), Tally()
    with ExitStack() as stack:
        proxies = [
            stack.enter_context(faulty_proxy(storage.port, seed * PUBLISHERS + number)) for number in range(PUBLISHERS)
        ]
        pipes = [stack.enter_context(_publisher(folder, bucket, proxy, number)) for number, proxy in enumerate(proxies)]
        for number in range(rounds):
            for pipe in pipes:
                pipe.send(number)
            for pipe in pipes:
                _count(pipe.recv() if pipe.poll(_ANSWER_S) else ("", "no answer"), tally)
        tally.violations += _broken(bucket, proxies, tally)
        tally.faults = sum((proxy.plan.counts for proxy in proxies), Counter())
    return tally


@contextmanager
def _publisher(folder: Path, bucket: Bucket, proxy: FaultyProxy, number: int) -> Iterator[Any]:
    """Yield the pipe to a publisher's process, which reaches the bucket through a proxy with faults."""
    proxy.plan.keep = KEPT
    proxy.plan.set(*_faults())
    ours, theirs = processes.pipe()
    variables = dict(bucket.through(proxy.port).environment)
    url = f"{bucket.url}/catalogs/{CATALOG}"
    process = processes.start(_publish_when_told, folder / f"publisher-{number}", url, variables, number, theirs)
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.kill()
        process.join()


def _count(answer: tuple[str, str], tally: Tally) -> None:
    name, reason = answer
    if reason:
        tally.refused[reason] += 1
    else:
        tally.published.append(name)


def _broken(bucket: Bucket, proxies: list[FaultyProxy], tally: Tally) -> Iterator[str]:
    """Yield a sentence for each broken promise, from what the server was sent and what lies in the bucket."""
    chain = read_chain(proxy.plan.log for proxy in proxies)
    published = publications(chain)
    tally.current = len(published)
    yield from chain_violations(chain)
    for name in tally.published:
        if name not in published:
            yield f"{name} was told to serve, and CURRENT never named it: it is lost"
    store = bucket.store(f"catalogs/{CATALOG}")
    for name in published:
        manifest = json.loads(bytes(obstore.get(store, f"snapshots/{name}/manifest.json").bytes()))
        content = bytes(obstore.get(store, f"files/{manifest['files'][_ONE_FILE]}").bytes()).decode()
        if manifest["snapshot"] != name or content != name:
            yield f"{name} is mixed: its manifest is that of {manifest['snapshot']}, its file that of {content}"
    if (sequences := Counter(_sequence(store, name) for name in published)) and max(sequences.values()) > 1:
        yield f"snapshots share a number: {[number for number, count in sequences.items() if count > 1]}"


def _sequence(store: Any, name: str) -> int:
    return int(json.loads(bytes(obstore.get(store, f"snapshots/{name}/manifest.json").bytes()))["sequence"])


def _publish_when_told(folder: Path, url: str, variables: Mapping[str, str], number: int, pipe: Any) -> None:
    """Publish a snapshot of one file each time that the pipe says so, and answer its name and why it does not serve."""
    folder.mkdir()
    processes.settle(folder, variables)
    from pipeline.store.bucket.store import BucketStore

    store = BucketStore(url, folder / "cache", patience_s=30)
    with suppress(EOFError):
        while True:
            pipe.send(_publish(store, f"{pipe.recv()}-{number}"))


def _publish(store: Any, content: str) -> tuple[str, str]:
    """Publish as a build does; return the name and the reason why it does not serve, empty where it does."""
    from pipeline.store.publication import publish_build
    from router.contract import Manifest

    content_hash = hashlib.sha256(content.encode()).hexdigest()
    name = ""
    try:
        store.begin_build()
        sequence = store.take_sequence()
        with store.staging(content_hash) as staged:
            name = staged.name.removeprefix(".building-")
            (staged / _ONE_FILE).write_text(name, encoding="utf-8")
            files = {_ONE_FILE: hashlib.sha256(name.encode()).hexdigest()}
            Manifest(
                name, CATALOG, "", content_hash, {"format": 5}, (), None, {}, {}, {}, "", files, sequence=sequence
            ).write(staged)
            store.seal(staged)
        reasons = publish_build(store, name)
    except OSError as error:
        return name, f"{type(error).__name__}: {str(error).partition('(')[0]}"
    return name, _SNAPSHOT.sub("another snapshot", "; ".join(reasons))


def _main() -> int:
    parser = argparse.ArgumentParser(description="Builders that publish at once, round after round.")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, object_storage_server() as storage:
        tally = play(Path(folder), storage, options.rounds, options.seed)
    print(f"{options.rounds} rounds of {PUBLISHERS} publishers, seed {options.seed}: {tally}")
    return bool(tally.violations)


if __name__ == "__main__":
    sys.exit(_main())
