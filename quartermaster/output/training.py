"""What a trained encoder gained, as a table."""

from typing import TYPE_CHECKING, Any

from quartermaster.output.terminal import key_value_table, out, plain_text, rows_table

if TYPE_CHECKING:
    from quartermaster.training import TrainingReport


def show_gain(report: "TrainingReport") -> None:
    """Print what was learned from, and the gain of each catalog."""
    data = report.data
    facts = [
        ("base", f"{report.base['name']} ({report.base['revision']})"),
        ("learned from", f"{data['pairs']:,} requests of {len(data['catalogs'])} catalogs, {data['tools']:,} tools"),
        ("held back", f"{data['held_out']:,} requests of {data['held_back_providers']:,} providers"),
        ("steps", f"{report.steps:,}"),
        ("everyday requests mistaken", " → ".join(f"{share:.3f}" for share in report.gain["mistaken"])),
    ]
    out.print(key_value_table(facts))
    out.print()
    header = ("catalog", "requests", "MRR before", "MRR after", "difference", "p")
    out.print(rows_table(header, [_cells(row) for row in report.gain["rows"]]))
    out.print()
    out.print(plain_text("MRR: mean reciprocal rank of the requests' tools by vector; 95 % intervals", "dim"))


def _cells(row: dict[str, Any]) -> list[str]:
    change = row["difference"]
    return [
        row["catalog"],
        f"{row['requests']:,}",
        *(f"{row[when]['mrr']:.3f}{_interval(row[when]['interval'])}" for when in ("before", "after")),
        f"{change['difference']:+.3f}{_interval(change['interval'], '+')}" if change else "",
        f"{change['p']:.2g}" if change else "",
    ]


def _interval(bounds: list[float] | None, sign: str = "") -> str:
    return f" [{bounds[0]:{sign}.3f}, {bounds[1]:{sign}.3f}]" if bounds else ""
