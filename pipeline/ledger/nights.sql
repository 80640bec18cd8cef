-- What each build asked each model and paid. Cost is that of the glossary: an answer that is reused costs nothing.
SELECT run_id, area, started_at, finished_at, outcome, message, degraded, reused, refused, generator, model,
    coalesce(paid.asked, 0) AS asked, coalesce(failed, 0) AS failed, coalesce(prompt_tokens, 0) AS prompt_tokens,
    coalesce(completion_tokens, 0) AS completion_tokens,
    CASE WHEN paid.run_id IS NULL THEN 0 ELSE paid.cost_usd END AS cost_usd
FROM builds LEFT JOIN (
    SELECT run_id, generator, model, sum(answers + failures)::BIGINT AS asked, sum(failures)::BIGINT AS failed,
        sum(prompt_tokens)::BIGINT AS prompt_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
        CASE WHEN sum(unpriced) = 0 THEN sum(cost_usd) END AS cost_usd
    FROM spending WHERE generator NOT IN ('file', 'lexicon') GROUP BY run_id, generator, model
) paid USING (run_id)
ORDER BY run_id DESC, paid.cost_usd DESC NULLS FIRST, model
