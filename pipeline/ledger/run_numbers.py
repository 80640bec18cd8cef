"""The runs of a ledger beside the build that goes on: their numbers never repeat, and killed ones are closed."""

import duckdb


def skip_run_numbers(connection: "duckdb.DuckDBPyConnection", last: int) -> None:
    """Let the next run have a number above `last`: the numbers order runs, snapshots and copies, and never repeat."""
    ((known,),) = connection.execute("SELECT coalesce(max(run_id), 0) FROM runs").fetchall()
    given: int = connection.execute("SELECT coalesce(last_value, 0) FROM duckdb_sequences()").fetchall()[0][0]
    if (missing := max(last, known) - given) > 0:
        connection.execute("SELECT max(nextval('run_ids')) FROM range(?)", [missing]).fetchall()


def close_killed_runs(connection: "duckdb.DuckDBPyConnection") -> list[int]:
    """Close the runs that a kill left open, and return their numbers. The caller has the lock: none of them goes on."""
    rows = connection.execute(
        "UPDATE runs SET outcome = 'killed', message = 'the process ended without closing the run' "
        "WHERE outcome = 'running' RETURNING run_id"
    ).fetchall()
    return sorted(run for (run,) in rows)
