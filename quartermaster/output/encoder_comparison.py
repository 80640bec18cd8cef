"""Two encoders side by side: which they are, and what each costs."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from quartermaster.output.formatting import MISSING, megabytes
from quartermaster.output.terminal import plain_text


def encoder_rows(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what there is to tell of both encoders of an evaluation: a name, this one's value, that one's value."""
    here, there = (
        {"tools": f"{side['tools']:,}", **_facts(side["encoder"]), **(_costs(side["cost"]) if side.get("cost") else {})}
        for side in (result, result["against"])
    )
    return [(name, value, there[name]) for name, value in here.items()]


def encoders_table(result: Mapping[str, Any]) -> Table:
    """Return the rows as a table for a terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", style="cyan")
    for name in ("this", "that"):
        table.add_column(name, overflow="fold")
    for row in encoder_rows(result):
        table.add_row(*map(plain_text, row))
    return table


def _facts(encoder: Mapping[str, Any] | None) -> dict[str, str]:
    if encoder is None:
        return {"encoder": "none", "revision": MISSING, "dimensions": MISSING, "precision of requests": MISSING}
    return {
        "encoder": encoder["model"],
        "revision": encoder["revision"],
        "dimensions": f"{encoder['dim']:,}",
        "precision of requests": encoder["precision"],
    }


def _costs(cost: Mapping[str, Any]) -> dict[str, str]:
    request, seconds = cost["request_ms"], cost["documents_s"]
    about = "about " if cost["documents_timed"] < cost["documents"] else ""
    return {
        "encoding a request, p50": MISSING if request is None else f"{request:.2f} ms",
        "embedding the documents": MISSING if seconds is None else f"{about}{seconds:,.1f} s",
        "size in the snapshot": megabytes(cost["bytes"]) if cost["bytes"] else MISSING,
    }
