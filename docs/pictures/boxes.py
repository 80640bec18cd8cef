"""Pictures of boxes and arrows, as SVG that follows the reader's light or dark mode and needs no font of its own."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

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


def arrow(path: str, *, both: bool = False) -> str:
    """Return an arrow along an SVG path; with `both`, it has a tip at each end."""
    start = ' marker-start="url(#tip)"' if both else ""
    return f'<path d="{path}"{start} marker-end="url(#tip)"/>'


def picture(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    """Return an SVG of parts, the last on top; `title` is what a screen reader says."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>',
        *parts,
        "</svg>\n",
    ])  # fmt: skip
