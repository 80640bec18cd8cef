"""Rank tools by other routers, in the Python that has them: `python -m benchmarks.support.peers.rank < JSON`.

Reads `{"tools": […], "requests": […], "peers": […]}`. Writes one line of JSON for each peer as soon as it is done:
`{"peer", "versions", "rankings"}`, or `{"peer", "missing"}` with the reason.
"""

import json
import logging
import sys
import time
from typing import Any

from benchmarks.support.peers.definitions import Tools
from benchmarks.support.peers.embedder import Embedder
from benchmarks.support.peers.registry import PEERS, Peer


def main() -> None:
    """Rank by each peer."""
    asked = json.load(sys.stdin)
    out, sys.stdout = sys.stdout, sys.stderr  # some peers print
    logging.disable(logging.WARNING)
    embedder: Embedder | None = None
    for name in asked["peers"]:
        peer = PEERS[name]
        begun = time.monotonic()
        try:
            versions = peer.versions()
            if peer.embeds and embedder is None:
                embedder = Embedder(remember=True)
                embedder.documents(asked["requests"])
            row: dict[str, Any] = {"peer": name, "versions": versions, "rankings": _rank(peer, embedder, asked)}
        except ImportError as missing:
            row = {"peer": name, "missing": str(missing)}
        print(f"  {name}: {row.get('missing') or f'{time.monotonic() - begun:.0f} s'}", file=sys.stderr, flush=True)
        print(json.dumps(row), file=out, flush=True)


def _rank(peer: Peer, embedder: Embedder | None, asked: dict[str, Any]) -> list[list[str]]:
    tools: Tools = asked["tools"]
    answer = peer.make(tools, embedder)
    return [list(answer(request)) for request in asked["requests"]]


if __name__ == "__main__":
    main()
