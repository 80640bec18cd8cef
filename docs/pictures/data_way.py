"""Draws docs/pictures/data_way.svg, the way of the data: `python -m docs.pictures.data_way`.

The picture follows the reader's light or dark mode, and needs no font of its own.
"""

from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

PICTURE = Path(__file__).with_suffix(".svg")
WIDTH, HEIGHT = 980, 356
_LINE = 16  # between two lines of a box

_STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #4b5563; }
  .head { font-weight: 600; font-size: 13px; fill: #111827; }
  .row { font-weight: 600; font-size: 12px; letter-spacing: .06em; fill: #6b7280; }
  rect { fill: #fff; stroke: #9ca3af; }
  .key { fill: #e8f0fe; stroke: #2563c9; }
  path { stroke: #6b7280; fill: none; stroke-width: 1.5; }
  marker path { fill: #6b7280; stroke: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #b6bdc9; } .head { fill: #f3f4f6; } .row { fill: #8b93a1; }
    rect { fill: #1b1f27; stroke: #586171; } .key { fill: #16294d; stroke: #6ea0f5; }
    path { stroke: #9aa3b2; } marker path { fill: #9aa3b2; }
  }
"""


@dataclass(frozen=True)
class Box:
    """A stage: its place, its name, and what is said of it, line by line."""

    x: int
    y: int
    width: int
    height: int
    name: str
    lines: tuple[str, ...]
    is_key: bool = False

    @property
    def middle(self) -> float:
        """Return the height of its middle."""
        return self.y + self.height / 2

    def svg(self) -> str:
        """Return the box with its text."""
        style = ' class="key"' if self.is_key else ""
        top = self.middle - _LINE * len(self.lines) / 2 + 4
        rows = [(self.name, "head"), *((line, "") for line in self.lines)]
        center = self.x + self.width / 2
        texts = [
            f'<text{f" class={chr(34)}{kind}{chr(34)}" if kind else ""} text-anchor="middle" x="{center:g}" '
            f'y="{top + _LINE * number:g}">{escape(text)}</text>'
            for number, (text, kind) in enumerate(rows)
        ]
        frame = f'<rect{style} x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="8"/>'
        return "\n".join([frame, *texts])


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
        f'<path d="M{left.x + left.width} {left.middle:g}H{right.x - 5}" marker-end="url(#tip)"/>'
        for row in (BUILD, ROUTE)
        for left, right in pairwise(row)
    ]
    snapshot, rankings, expansions = BUILD[-1], ROUTE[2], BUILD[2]
    turn = (snapshot.y + snapshot.height + rankings.y) / 2 + 34
    arrows += [
        f'<path d="M{snapshot.x + 132} {snapshot.y + snapshot.height}V{turn:g}H{rankings.x + 89}V{rankings.y - 5}" '
        'marker-end="url(#tip)"/>',
        f'<path d="M{expansions.x + 89} {expansions.y + expansions.height}V{LEDGER.y - 5}" '
        'marker-start="url(#tip)" marker-end="url(#tip)"/>',
    ]
    rows = [
        '<text class="row" x="12" y="26">BUILD, EVERY NIGHT</text>',
        '<text class="row" x="12" y="238">ROUTE, IN MILLISECONDS</text>',
    ]
    boxes = [box.svg() for box in (*BUILD, LEDGER, *ROUTE)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img">',
        f"<title>{TITLE}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>',
        *arrows,
        *boxes,
        *rows,
        "</svg>\n",
    ])  # fmt: skip


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(f"wrote {PICTURE.name}")
