-- Fill the tables of what the ledger knows, from Arrow tables of the same names with ledger_ before them. `snapshot`, `tools` and
-- `words` (the expansions without their cost) are there already.

-- The ledger hands a key's first answer to every later build, so that is the one to account for.
INSERT INTO expansions
SELECT words.*, answer.prompt_version, answer.prompt_tokens, answer.cached_tokens, answer.completion_tokens, answer.cost_usd,
    answer.created_at AS written_at, answer.run_id
FROM words
LEFT JOIN (
    SELECT * FROM ledger_attempts WHERE kind IS NULL AND discarded_at IS NULL
    QUALIFY row_number() OVER (PARTITION BY expansion_key ORDER BY run_id, created_at) = 1
) answer USING (expansion_key)
ORDER BY tool_id;

-- A file is read by every build, and a model that is asked is in this build's rows: what stands from earlier builds is a
-- model's failure that no words have made good.
INSERT INTO failures
SELECT tools.tool_id, failure.generator, failure.model, failure.kind, failure.message, failure.prompt_tokens,
    failure.cached_tokens, failure.completion_tokens, failure.cost_usd, failure.run_id,
    failure.created_at AS failed_at, words.generator AS words_by
FROM ledger_attempts failure
JOIN tools USING (record_hash)
LEFT JOIN words USING (tool_id)
WHERE failure.kind IS NOT NULL
QUALIFY failure.run_id = (SELECT run_id FROM snapshot)
    AND coalesce(words.generator || ' ' || words.model, '') <> failure.generator || ' ' || failure.model
    OR failure.generator <> 'file' AND words.generator IS NULL AND row_number() OVER (
        PARTITION BY tools.tool_id, failure.generator, failure.model
        ORDER BY failure.run_id DESC, failure.created_at DESC
    ) = 1
ORDER BY tools.tool_id, failed_at, failure.generator;

INSERT INTO builds
SELECT run_id, area, started_at, finished_at,
    CASE WHEN own.run_id IS NULL THEN run.outcome WHEN len(own.held) > 0 THEN 'held' ELSE 'published' END AS outcome,
    coalesce(own.snapshot, run.snapshot) AS snapshot,
    nullif(coalesce(array_to_string(own.held, '; '), run.message), '') AS message,
    tools, asked, reused, refused, embedded, cost_usd, estimated_usd, degraded
FROM ledger_runs run LEFT JOIN snapshot own USING (run_id)
ORDER BY run_id;

INSERT INTO spending FROM ledger_spending;

INSERT INTO history
SELECT tool_id, happened_at, run_id, event, detail FROM (
    SELECT tool_id, seen_at AS happened_at, run_id,
        CASE WHEN before IS NULL THEN 'first seen' ELSE 'changed' END AS event,
        nullif(concat_ws('; ',
            array_to_string({differing}, ', '),
            CASE WHEN area <> 'snapshots' THEN 'by a build of ' || area END
        ), '') AS detail,
        1 AS step
    FROM ledger_versions
    UNION ALL
    SELECT version.tool_id, attempt.created_at, attempt.run_id,
        CASE WHEN kind IS NULL THEN 'expansion written' ELSE 'expansion failed' END,
        concat_ws(', ',
            concat_ws(': ', generator || ' ' || model, kind, message),
            CASE WHEN prompt_tokens + completion_tokens > 0
                THEN format('{{:,}} + {{:,}} tokens', prompt_tokens, completion_tokens) END,
            CASE WHEN cost_usd IS NULL THEN 'price unknown' WHEN cost_usd > 0 THEN format('${{:.6f}}', cost_usd) END,
            strftime(discarded_at, 'discarded %Y-%m-%d %H:%M:%S UTC')
        ),
        CASE WHEN kind IS NULL THEN 3 ELSE 2 END
    FROM ledger_attempts attempt JOIN ledger_versions version USING (record_hash)
)
ORDER BY tool_id, happened_at, step, detail;
