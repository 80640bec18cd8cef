"""The report of a campaign: a row for each target, and the totals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from simulations.fuzz.engine.corpus import Known
from simulations.fuzz.engine.tally import Tally

_HEAD = ("target", "inputs", "per CPU s", "accepted", "untyped", "hangs", "known", "slowest s", "peak MB", "lines")


def summary(tallies: Iterable[Tally], known: Iterable[Known], **run: Any) -> dict[str, Any]:
    """Return the figures of a run, JSON-ready: `targets`, `total`, and how it was run."""
    told = tuple(known)
    rows = [_row(tally, told) for tally in tallies]
    total = {key: sum(row[key] for row in rows) for key in ("inputs", "untyped", "hangs", "known")}
    return {"run": run, "total": total, "targets": rows}


def earlier_tallies(figures: Mapping[str, Any]) -> Iterator[Tally]:
    """Yield the counts that figures were made of, to add a run to them."""
    names = [field.name for field in fields(Tally)]
    for row in figures["targets"]:
        yield Tally(**{name: row[name] for name in names})


def table(figures: Mapping[str, Any]) -> str:
    """Return the figures as text, with a line for each failure."""
    rows = [tuple(_shown(row[key]) for key in _KEYS) for row in figures["targets"]]
    total = figures["total"]
    rows.append(("all", *(_shown(total.get(key, "")) for key in _KEYS[1:])))
    widths = [max(len(row[i]) for row in [_HEAD, *rows]) for i in range(len(_HEAD))]
    lines = [
        "  ".join(_padded(cell, w, i) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        for row in (_HEAD, *rows)
    ]
    for row in figures["targets"]:
        lines += [f"{row['target']}: {count} × {signature}" for signature, count in row["findings"].items()]
    return "\n".join(lines)


_KEYS = ("target", "inputs", "per_s", "accepted", "untyped", "hangs", "known", "slowest_s", "peak_mb", "lines")


def _row(tally: Tally, told: Sequence[Known]) -> dict[str, Any]:
    new = {s: n for s, n in tally.findings.items() if not any(one.tells(tally.target, s) for one in told)}
    hangs = sum(count for signature, count in new.items() if signature.startswith("Hang"))
    return {
        "target": tally.target,
        "inputs": tally.inputs,
        "per_s": round(tally.inputs / tally.seconds) if tally.seconds else 0,
        "seconds": round(tally.seconds, 1),
        "accepted": tally.accepted,
        "untyped": sum(new.values()) - hangs,
        "hangs": hangs,
        "known": sum(tally.findings.values()) - sum(new.values()),
        "slowest_s": round(tally.slowest_s, 3),
        "peak_mb": tally.peak_mb,
        "lines": tally.lines,
        "findings": dict(sorted(tally.findings.items())),
    }


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _padded(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column else cell.ljust(width)
