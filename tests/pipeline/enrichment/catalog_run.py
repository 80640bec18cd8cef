"""Run a catalog through generators, with a real ledger."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from pipeline.enrichment import Enrichment, EnrichmentContext, Generator, contrast, enrich
from pipeline.enrichment.context import Screening
from pipeline.ledger import LEDGER_FILE, Ledger
from pipeline.progress import SilentProgress
from pipeline.records import Catalog, catalog_records
from tests.support.factories import make_raw


def catalog(*names: str, **fields: Any) -> Catalog:
    """Return a catalog of tools with these names."""
    return catalog_records(make_raw(name, description=f"It does {name}.", **fields) for name in names)


def run(
    workspace: Path,
    catalog: Catalog,
    *generators: Generator,
    siblings: Mapping[str, Sequence[str]] | None = None,
    into: Enrichment | None = None,
    screen: Screening = lambda _, expansion: (expansion, ()),
    name: str = "office",
    checks: str = "",
    share: float = 1.0,
) -> Enrichment:
    """Run the generators over a catalog of this name; ask a second time where `siblings` are given."""
    with Ledger.open(workspace) as ledger:
        result = Enrichment() if into is None else into
        number = ledger.start_run(name)
        context = EnrichmentContext(catalog, ledger, number, SilentProgress(), screen, name, checks, share)
        enrich(context, generators, batch=catalog.records, into=result)
        if siblings is not None:
            contrast(context, generators, siblings, into=result)
        return result


def enriched(ledger: Ledger, catalog: Catalog, *generators: Generator) -> Enrichment:
    """Run the generators over a catalog with an open ledger."""
    result, screen = Enrichment(), lambda _, expansion: (expansion, ())
    context = EnrichmentContext(catalog, ledger, ledger.start_run("office"), SilentProgress(), screen)
    enrich(context, generators, batch=catalog.records, into=result)
    return result


def ledger_rows(workspace: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query on the ledger."""
    with duckdb.connect(str(workspace / LEDGER_FILE), read_only=True) as connection:
        return connection.execute(sql).fetchall()
