-- Views of money: what is in use, what each build spent, what each provider took.

CREATE VIEW costs AS
SELECT provider, generator, model, count(*) AS tools, sum(prompt_tokens)::BIGINT AS prompt_tokens,
    sum(cached_tokens)::BIGINT AS cached_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced
FROM expansions JOIN tools USING (tool_id)
GROUP BY provider, generator, model
ORDER BY cost_usd DESC NULLS LAST, provider, generator, model;
COMMENT ON VIEW costs IS 'What the answers in use have cost, by provider, generator and model, dearest first. What builds spent in all, failures and replaced answers too, is in builds.';
COMMENT ON COLUMN costs.provider IS 'The provider of the tools; NULL for tools without one.';
COMMENT ON COLUMN costs.generator IS 'Who wrote the answers.';
COMMENT ON COLUMN costs.model IS 'The model, the file''s name, or the lexicon''s version.';
COMMENT ON COLUMN costs.tools IS 'How many tools have such an answer.';
COMMENT ON COLUMN costs.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN costs.cached_tokens IS 'Tokens sent that the server had in its cache.';
COMMENT ON COLUMN costs.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN costs.cost_usd IS 'US dollars of the answers whose price is known; NULL where none is.';
COMMENT ON COLUMN costs.unpriced IS 'How many answers have no known price.';

CREATE VIEW costs_by_build AS
SELECT spending.run_id, CAST(started_at AS DATE) AS night, outcome, model, generator, provider, answers,
    spending.failures, prompt_tokens, cached_tokens, completion_tokens, spending.cost_usd, unpriced
FROM spending JOIN builds USING (run_id)
ORDER BY run_id DESC, spending.cost_usd DESC NULLS LAST, provider, model;
COMMENT ON VIEW costs_by_build IS 'What each build of this catalog was answered and paid, by model and provider of the tools, newest build first. A build that asked nothing has no row.';
COMMENT ON COLUMN costs_by_build.run_id IS 'The build, as in builds.';
COMMENT ON COLUMN costs_by_build.night IS 'The day on which it began, UTC.';
COMMENT ON COLUMN costs_by_build.outcome IS 'published, unchanged, held, failed or running.';
COMMENT ON COLUMN costs_by_build.model IS 'The model, the file''s name, or the lexicon''s version.';
COMMENT ON COLUMN costs_by_build.generator IS 'Who was asked: file, openai or lexicon.';
COMMENT ON COLUMN costs_by_build.provider IS 'The provider of the tools; NULL for tools without one.';
COMMENT ON COLUMN costs_by_build.answers IS 'How many questions were answered.';
COMMENT ON COLUMN costs_by_build.failures IS 'How many brought no usable answer.';
COMMENT ON COLUMN costs_by_build.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN costs_by_build.cached_tokens IS 'Tokens sent that the server had in its cache.';
COMMENT ON COLUMN costs_by_build.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN costs_by_build.cost_usd IS 'US dollars of those whose price is known; NULL where none is.';
COMMENT ON COLUMN costs_by_build.unpriced IS 'How many have no known price.';

CREATE VIEW providers AS
WITH writers AS (
    SELECT provider, string_agg(writer || ' ' || tools, ', ' ORDER BY tools DESC, writer) AS written_by
    FROM (
        SELECT provider, coalesce(generator, 'nobody') AS writer, count(*) AS tools
        FROM tools LEFT JOIN expansions USING (tool_id) GROUP BY provider, writer
    )
    GROUP BY provider
)
SELECT tools.provider, count(*) AS tools, count(thin.tool_id) AS thin,
    round(coalesce(sum(phrase.phrases), 0) / count(*), 1) AS phrases_a_tool,
    any_value(writers.written_by) AS written_by, count(failure.tool_id) AS failed,
    sum(expansions.cost_usd) AS cost_usd, count(expansions.tool_id) - count(expansions.cost_usd) AS unpriced
FROM tools
JOIN writers ON writers.provider IS NOT DISTINCT FROM tools.provider
LEFT JOIN expansions USING (tool_id)
LEFT JOIN thin_descriptions thin ON thin.tool_id = tools.tool_id
LEFT JOIN (SELECT tool_id, count(*) AS phrases FROM phrases GROUP BY tool_id) phrase ON phrase.tool_id = tools.tool_id
LEFT JOIN (SELECT DISTINCT tool_id FROM failures) failure ON failure.tool_id = tools.tool_id
GROUP BY tools.provider
ORDER BY tools DESC, tools.provider;
COMMENT ON VIEW providers IS 'Each provider, largest first: its tools, how well they are described, by whom, and what that cost.';
COMMENT ON COLUMN providers.provider IS 'The provider; NULL for tools without one.';
COMMENT ON COLUMN providers.tools IS 'How many tools it has.';
COMMENT ON COLUMN providers.thin IS 'How many are in thin_descriptions.';
COMMENT ON COLUMN providers.phrases_a_tool IS 'Phrases for each tool, in all languages, on average.';
COMMENT ON COLUMN providers.written_by IS 'Who wrote the words in use, and for how many tools.';
COMMENT ON COLUMN providers.failed IS 'How many tools are in failures.';
COMMENT ON COLUMN providers.cost_usd IS 'US dollars of the answers in use whose price is known; NULL where none is.';
COMMENT ON COLUMN providers.unpriced IS 'How many answers in use have no known price.';
