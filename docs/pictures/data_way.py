"""Draws docs/pictures/data_way.svg, the way of the data: `python -m docs.pictures.data_way`."""

from itertools import pairwise
from pathlib import Path

from docs.pictures.boxes import Box, arrow, picture

PICTURE = Path(__file__).with_suffix(".svg")
WIDTH, HEIGHT = 980, 356

BUILD = (
    Box(12, 42, 150, 92, "Catalogs", ("OpenAPI, functions,", "MCP servers, JSONL")),
    Box(188, 42, 120, 92, "Records", ("one a tool:", "id, text, schema")),
    Box(334, 42, 178, 92, "Expansions", ("a model writes how", "people ask for each tool:", "“pull failed payments”")),
    Box(538, 42, 140, 92, "Checks", ("phrases that do not", "fit their tool", "are left out")),
    Box(704, 42, 264, 92, "Snapshot", (
        "3 BM25 indexes: name, description,", "expansion; vectors of all texts;", "immutable, verified, measured",
    ), True),
)  # fmt: skip
LEDGER = Box(334, 158, 178, 44, "Ledger", ("answers and costs, kept",))
ROUTE = (
    Box(12, 252, 150, 92, "Request", ("“refund Ada and", "tell the team”")),
    Box(188, 252, 120, 92, "Query", ("its steps,", "encoded once")),
    Box(334, 252, 178, 92, "Four rankings", ("name · description", "expansion · dense"), True),
    Box(538, 252, 140, 92, "Fusion", ("one ranking that", "covers every step")),
    Box(704, 252, 264, 92, "Answer", (
        "the few tools that fit, filtered, within", "a token budget, with the reasons;", "or: no tool fits",
    )),
)  # fmt: skip
TITLE = (
    "Build: catalogs become records, a model writes expansions, checks drop some, a snapshot is published. "
    "Route: a request becomes a query, four rankings from the snapshot are fused into an answer."
)


def draw() -> str:
    """Return the picture as SVG."""
    arrows = [
        arrow(f"M{left.x + left.width} {left.middle:g}H{right.x - 5}")
        for row in (BUILD, ROUTE)
        for left, right in pairwise(row)
    ]
    snapshot, rankings, expansions = BUILD[-1], ROUTE[2], BUILD[2]
    turn = (snapshot.y + snapshot.height + rankings.y) / 2 + 34
    arrows += [
        arrow(f"M{snapshot.x + 132} {snapshot.y + snapshot.height}V{turn:g}H{rankings.x + 89}V{rankings.y - 5}"),
        arrow(f"M{expansions.x + 89} {expansions.y + expansions.height}V{LEDGER.y - 5}", both=True),
    ]
    rows = [
        '<text class="row" x="12" y="26">BUILD, EVERY NIGHT</text>',
        '<text class="row" x="12" y="238">ROUTE, IN MILLISECONDS</text>',
    ]
    boxes = [box.svg() for box in (*BUILD, LEDGER, *ROUTE)]
    return picture(WIDTH, HEIGHT, TITLE, [*arrows, *boxes, *rows])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
