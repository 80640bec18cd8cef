"""A process that asks known requests at a rate, and writes down each answer and each broken connection:
`python -m simulations.soak.client PORT BODIES.json JOURNAL --rate 8 --seed 3`.

It ends when its standard input does. A request whose connection breaks is asked once more, over a new one. Each line
of the journal is a JSON object: `at` is `time.monotonic` at the end, `seconds` how long it took, `port` the client's
end of the connection, `attempt` 1 or 2, `body` the number of what was asked; then `error`, or `status`, `snapshots` and
`digest`.
"""

import argparse
import json
import random
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from simulations.soak.answers import Known, ask, read_answer

_PER_CONNECTION = 40  # requests, in the mean, before a client connects anew: another worker may then take it
_TIMEOUT_S = 120.0


def attempts(connection: HTTPConnection, known: Known) -> Iterator[dict[str, Any]]:
    """Ask, and once more if the connection breaks; yield a row of each attempt."""
    for attempt in (1, 2):
        begun = time.monotonic()
        row: dict[str, Any] = {"attempt": attempt, "port": 0}
        try:
            if connection.sock is None:
                connection.connect()
            row["port"] = connection.sock.getsockname()[1]
            status, content = ask(connection, known)
            row["status"] = status
            if status == 200:
                answer = read_answer(content)
                row |= {"snapshots": answer.snapshots, "digest": answer.digest}
        except (OSError, HTTPException) as error:
            connection.close()
            row["error"] = f"{type(error).__name__}: {error}"
        row["at"] = time.monotonic()
        row["seconds"] = row["at"] - begun
        yield row
        if "error" not in row:
            return


def run(port: int, bodies: Sequence[Known], journal: Path, rate: float, seed: int, ended: threading.Event) -> None:
    """Ask `rate` requests a second in the mean until `ended`."""
    draw = random.Random(seed)
    connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
    next_at = time.monotonic()
    with journal.open("w", encoding="utf-8", buffering=1) as lines:
        while not ended.wait(max(0.0, next_at - time.monotonic())):
            next_at = max(next_at, time.monotonic() - 1) + draw.expovariate(rate)
            body = draw.randrange(len(bodies) - 1)  # the last has a large answer, which slow clients read
            for row in attempts(connection, bodies[body]):
                lines.write(json.dumps({"body": body, **row}) + "\n")
            if draw.random() < 1 / _PER_CONNECTION:
                connection.close()


def until_input_ends() -> threading.Event:
    """Return an event that is set when standard input ends, as it does when the process that started this one dies."""
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended


def read_bodies(path: Path) -> list[Known]:
    """Return the bodies of a file that a soak wrote."""
    return [Known(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def main() -> None:
    """Ask until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("bodies", type=Path)
    parser.add_argument("journal", type=Path)
    parser.add_argument("--rate", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    run(given.port, read_bodies(given.bodies), given.journal, given.rate, given.seed, until_input_ends())


if __name__ == "__main__":
    main()
