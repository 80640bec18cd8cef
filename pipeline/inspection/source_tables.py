"""Build Arrow tables of what was read: rejections, notices, coverage, unread keys."""

from collections.abc import Sequence

import pyarrow as pa

from pipeline.errors import RecordRejected
from pipeline.records import Catalog
from pipeline.sources.coverage import Coverage, by_source


def rejections(rejected: Sequence[RecordRejected]) -> pa.Table:
    """Return one row per record, or line of expansions, that could not be used."""
    return pa.table(
        {
            "file": pa.array([r.origin.file for r in rejected], pa.string()),
            "pointer": pa.array([r.origin.pointer for r in rejected], pa.string()),
            "reason": pa.array([r.reason for r in rejected], pa.string()),
        }
    )


def notices(catalog: Catalog) -> pa.Table:
    """Return one row per notice about a tool that was kept."""
    return pa.table(
        {
            "tool_id": pa.array([n.tool_id for n in catalog.notices], pa.string()),
            "kind": pa.array([n.kind for n in catalog.notices], pa.string()),
            "message": pa.array([n.message for n in catalog.notices], pa.string()),
            "file": pa.array([n.origin.file for n in catalog.notices], pa.string()),
            "pointer": pa.array([n.origin.pointer for n in catalog.notices], pa.string()),
        }
    )


def coverage(coverages: Sequence[Coverage]) -> pa.Table:
    """Return one row per source: how much of it was read."""
    rows = by_source(coverages)
    counts = pa.map_(pa.string(), pa.int64())
    texts = pa.list_(pa.string())
    return pa.table(
        {
            "source": pa.array(list(rows), pa.string()),
            "records": pa.array([c.records for c in rows.values()], pa.int64()),
            "tools": pa.array([c.tools for c in rows.values()], pa.int64()),
            "described": pa.array([c.described for c in rows.values()], pa.int64()),
            "with_parameters": pa.array([c.with_parameters for c in rows.values()], pa.int64()),
            "lost_parameters": pa.array([c.lost_parameters for c in rows.values()], pa.int64()),
            "rejected": pa.array([c.rejected for c in rows.values()], pa.int64()),
            "reasons": pa.array([list(c.reasons.items()) for c in rows.values()], counts),
            "shapes": pa.array([list(c.shapes.items()) for c in rows.values()], counts),
            "problems": pa.array([list(c.problems) for c in rows.values()], texts),
        }
    )


def unread_keys(coverages: Sequence[Coverage]) -> pa.Table:
    """Return one row per key of a source that no reader knows."""
    rows = [(source, key) for source, one in by_source(coverages).items() for key in one.unread]
    return pa.table(
        {
            "source": pa.array([source for source, _ in rows], pa.string()),
            "key": pa.array([key.key for _, key in rows], pa.string()),
            "records": pa.array([key.records for _, key in rows], pa.int64()),
            "example": pa.array([key.example for _, key in rows], pa.string()),
        }
    )
