"""Build Arrow tables of snapshots: the one that is written, and the judged metrics of all in its store."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa

from router.contract import Manifest

_TIME = pa.timestamp("us")


def snapshot(manifest: Manifest, run: int) -> pa.Table:
    """Return the row of the table `snapshot`. Its `previous` is still NULL."""
    columns = {
        "snapshot": pa.array([manifest.snapshot]),
        "sequence": pa.array([manifest.sequence], pa.int64()),
        "catalog": pa.array([manifest.catalog]),
        "built_at": pa.array([_built_at(manifest)], _TIME),
        "run_id": pa.array([run], pa.int64()),
        "encoder": pa.array([manifest.encoder.model if manifest.encoder else None], pa.string()),
        "recipe": pa.array([manifest.recipe.get("name")], pa.string()),
        "format": pa.array([manifest.versions["format"]], pa.int32()),
        "held": pa.array([list(manifest.held)], pa.list_(pa.string())),
        "previous": pa.array([None], pa.string()),
    }
    return pa.table(columns)


def quarantine(manifest: Manifest) -> pa.Table:
    """Return one row per tool that the build held back alone."""
    rows = manifest.quarantined
    columns = {
        "tool_id": pa.array([row["tool_id"] for row in rows], pa.string()),
        "kind": pa.array([row["kind"] for row in rows], pa.string()),
        "since": pa.array([_utc(row["since"]) for row in rows], _TIME),
        "requests": pa.array([row["requests"] for row in rows], pa.int32()),
        "probes": pa.array([row["probes"] for row in rows], pa.int32()),
        "distance": pa.array([row["distance"] for row in rows], pa.float64()),
        "examples": pa.array(
            [[example["request"] for example in row["examples"]] for row in rows], pa.list_(pa.string())
        ),
    }
    return pa.table(columns)


def judged_metrics(manifests: Sequence[Manifest]) -> pa.Table:
    """Return one row per metric of each snapshot that was measured on judged requests, oldest first."""
    rows = [
        (manifest, manifest.evaluation, metric, value)
        for manifest in sorted(manifests, key=lambda manifest: (manifest.sequence, manifest.snapshot))
        if manifest.evaluation is not None
        for metric, value in sorted((manifest.evaluation.get("metrics") or {}).items())
    ]
    intervals = [evaluation.get("intervals", {}).get(metric) or (None, None) for _, evaluation, metric, _ in rows]
    columns = {
        "snapshot": pa.array([manifest.snapshot for manifest, *_ in rows], pa.string()),
        "sequence": pa.array([manifest.sequence for manifest, *_ in rows], pa.int64()),
        "built_at": pa.array([_built_at(manifest) for manifest, *_ in rows], _TIME),
        "held": pa.array([bool(manifest.held) for manifest, *_ in rows], pa.bool_()),
        "recipe": pa.array([evaluation.get("recipe") for _, evaluation, *_ in rows], pa.string()),
        "requests": pa.array([evaluation.get("requests") for _, evaluation, *_ in rows], pa.int64()),
        "metric": pa.array([metric for _, _, metric, _ in rows], pa.string()),
        "value": pa.array([value for *_, value in rows], pa.float64()),
        "low": pa.array([low for low, _ in intervals], pa.float64()),
        "high": pa.array([high for _, high in intervals], pa.float64()),
    }
    return pa.table(columns)


def _built_at(manifest: Manifest) -> datetime:
    """Return the time of a manifest in UTC, without a zone, as everywhere in the file."""
    return _utc(manifest.created_at)


def _utc(moment: str) -> datetime:
    return datetime.fromisoformat(moment).astimezone(UTC).replace(tzinfo=None)
