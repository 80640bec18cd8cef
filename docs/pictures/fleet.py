"""Draws docs/pictures/fleet.svg, a fleet that serves from a bucket: `python -m docs.pictures.fleet`."""

from pathlib import Path

from docs.pictures.boxes import Box, arrow, picture

PICTURE = Path(__file__).with_suffix(".svg")
WIDTH, HEIGHT = 980, 420

AGENTS = Box(12, 42, 150, 250, "Agents", ("ask with a token;", "", "a connection that", "breaks is asked", "once more"))
BALANCER = Box(206, 42, 150, 250, "Load balancer", (
    "TLS", "", "asks /readyz of each", "replica", "", "needs no sessions:", "any replica answers"
), True)  # fmt: skip
BUILD = Box(768, 42, 200, 76, "Build driver", ("every night; signs,", "and publishes by one write"))
BUCKET = Box(768, 160, 200, 132, "Bucket", (
    "CURRENT: what serves", "", "files/<sha256>, each once:", "replicas fetch what", "changed"
), True)  # fmt: skip
PROMETHEUS = Box(206, 334, 150, 70, "Prometheus", ("one /metrics a replica,", "the sum of its workers"))
TITLE = (
    "Agents ask a load balancer, which passes their requests to replicas. Each replica is a host with a supervisor, "
    "workers that share the pages of one cache, and that cache on its disk. Each worker looks every few seconds for a "
    "new snapshot in the bucket, at a moment of its own. A build driver publishes to the bucket; Prometheus asks "
    "each replica for its metrics."
)
_WORKERS = 3
_LEFT, _WIDTH, _WORKER, _GAP = 412, 300, 88, 8


def _replica(top: int, name: str) -> tuple[list[str], float]:
    """Return the parts of a replica and the height of its middle."""
    frame = Box(_LEFT, top, _WIDTH, 104, "", ())
    head = f'<text class="head" x="{_LEFT + 12}" y="{top + 20}">{name}</text>'
    note = f'<text x="{_LEFT + _WIDTH - 12}" y="{top + 20}" text-anchor="end">supervisor</text>'
    workers = [
        Box(_LEFT + 10 + place * (_WORKER + _GAP), top + 30, _WORKER, 28, f"worker {place + 1}", ()).svg()
        for place in range(_WORKERS)
    ]
    cache = Box(_LEFT + 10, top + 66, _WIDTH - 20, 28, "cache, mapped by all workers", ())
    return [frame.svg(), head, note, *workers, cache.svg()], frame.middle


def draw() -> str:
    """Return the picture as SVG."""
    parts, middles = [], []
    for top, name in ((42, "Replica 1"), (170, "Replica 2"), (300, "Replica n")):
        replica, middle = _replica(top, name)
        parts += replica
        middles.append(middle)
    right = _LEFT + _WIDTH
    out = BALANCER.x + BALANCER.width
    turn = (out + _LEFT) / 2
    into = (right + BUCKET.x) / 2
    arrows = [
        arrow(f"M{AGENTS.x + AGENTS.width} {AGENTS.middle:g}H{BALANCER.x - 5}"),
        *(arrow(f"M{out} {BALANCER.middle:g}H{turn - 8:g}V{middle - 8:g}H{_LEFT - 5}") for middle in middles),
        *(arrow(f"M{BUCKET.x} {BUCKET.middle:g}H{into:g}V{middle:g}H{right + 5}") for middle in middles),
        arrow(f"M{BUILD.x + BUILD.width / 2:g} {BUILD.y + BUILD.height}V{BUCKET.y - 5}"),
        arrow(f"M{PROMETHEUS.x + PROMETHEUS.width} {PROMETHEUS.middle:g}H{turn + 8:g}H{_LEFT - 5}"),
    ]
    rows = [
        '<text class="row" x="12" y="26">ASK</text>',
        f'<text class="row" x="{BALANCER.x}" y="26">BALANCE</text>',
        f'<text class="row" x="{_LEFT}" y="26">ANSWER: A HOST EACH</text>',
        f'<text class="row" x="{BUCKET.x}" y="26">PUBLISH</text>',
    ]
    boxes = [box.svg() for box in (AGENTS, BALANCER, BUILD, BUCKET, PROMETHEUS)]
    return picture(WIDTH, HEIGHT, TITLE, [*arrows, *parts, *boxes, *rows])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
