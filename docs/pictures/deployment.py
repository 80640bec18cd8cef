"""Draws docs/pictures/deployment.svg, what runs where past one machine: `python -m docs.pictures.deployment`."""

from pathlib import Path

from docs.pictures.boxes import Box, arrow, picture

PICTURE = Path(__file__).with_suffix(".svg")
WIDTH, HEIGHT = 980, 390

PREFECT = Box(12, 42, 178, 62, "Prefect server", ("schedule, runs, logs;", "nothing of value is in it"))
MODEL = Box(12, 114, 178, 62, "Model server", ("writes expansions,", "under one rate limit"))
SOURCES = Box(12, 186, 178, 62, "Sources", ("OpenAPI, MCP servers,", "JSONL, functions"))
DRIVER = Box(246, 42, 210, 206, "Driver", (
    "quartermaster schedule", "", "one process, which owns", "the ledger: answers, vectors,",
    "costs; it asks the model,", "decides, and publishes",
), True)  # fmt: skip
WORKERS = Box(246, 302, 210, 76, "Dask workers", ("project · embed", "any number, any may die"))
STORAGE = Box(512, 302, 180, 76, "Shared storage", ("Parquet shards;", "gone after the build"))
BUCKET = Box(512, 42, 180, 206, "Bucket", (
    "files/<sha256>, each once", "", "snapshots/<name>/", "manifest.json, last", "", "CURRENT,",
    "by conditional write",
), True)  # fmt: skip
ROUTERS = tuple(
    Box(748, y, 220, 56, name, ("pulls, verifies, keeps a cache",))
    for y, name in ((42, "Router host 1"), (117, "Router host 2"), (192, "Router host n"))
)
OPERATOR = Box(748, 302, 220, 76, "Operator", ("quartermaster snapshots s3://…", "--rollback, --pin, from any host"))
TITLE = (
    "A Prefect server starts the driver. It reads sources and asks a model server, spreads stages over Dask workers, "
    "which share a storage with it, and publishes to a bucket. Router hosts follow the bucket, each with a cache. An "
    "operator decides from any host."
)


def draw() -> str:
    """Return the picture as SVG."""
    right, left = DRIVER.x - 5, DRIVER.x + DRIVER.width
    middle = DRIVER.x + DRIVER.width / 2
    arrows = [
        arrow(f"M{PREFECT.x + PREFECT.width + 5} {PREFECT.middle:g}H{right}", both=True),
        arrow(f"M{MODEL.x + MODEL.width + 5} {MODEL.middle:g}H{right}", both=True),
        arrow(f"M{SOURCES.x + SOURCES.width} {SOURCES.middle:g}H{right}"),
        arrow(f"M{middle:g} {DRIVER.y + DRIVER.height + 5}V{WORKERS.y - 5}", both=True),
        arrow(f"M{WORKERS.x + WORKERS.width + 5} {WORKERS.middle:g}H{STORAGE.x - 5}", both=True),
        arrow(f"M{left} {DRIVER.middle:g}H{BUCKET.x - 5}"),
        *(arrow(f"M{BUCKET.x + BUCKET.width} {router.middle:g}H{router.x - 5}") for router in ROUTERS),
        arrow(f"M{OPERATOR.x} {OPERATOR.middle:g}H720V275H{BUCKET.x + 90}V{BUCKET.y + BUCKET.height + 5}"),
    ]
    rows = [
        '<text class="row" x="12" y="26">AROUND IT</text>',
        f'<text class="row" x="{DRIVER.x}" y="26">BUILD, EVERY NIGHT</text>',
        f'<text class="row" x="{BUCKET.x}" y="26">PUBLISHED</text>',
        f'<text class="row" x="{ROUTERS[0].x}" y="26">SERVE, ALL DAY</text>',
    ]
    boxes = [box.svg() for box in (PREFECT, MODEL, SOURCES, DRIVER, WORKERS, STORAGE, BUCKET, *ROUTERS, OPERATOR)]
    return picture(WIDTH, HEIGHT, TITLE, [*arrows, *boxes, *rows])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
