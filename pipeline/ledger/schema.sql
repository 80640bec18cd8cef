-- The ledger: its tables, its views, then the statements that comment on them.
-- It holds answers that were paid for, of any earlier version: what is there keeps its meaning. So whatever is missing is
-- added, and nothing else is changed. To change the tables, add it here with its comment, and raise VERSION in ledger.py.

CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, sentence VARCHAR, applied_at TIMESTAMP);
CREATE SEQUENCE IF NOT EXISTS run_ids;
CREATE TABLE IF NOT EXISTS runs (
    run_id BIGINT PRIMARY KEY, catalog VARCHAR, started_at TIMESTAMP, finished_at TIMESTAMP,
    outcome VARCHAR, snapshot VARCHAR, message VARCHAR, counts JSON);
ALTER TABLE runs ADD COLUMN IF NOT EXISTS area VARCHAR;
CREATE TABLE IF NOT EXISTS records (
    record_hash VARCHAR, tool_id VARCHAR, catalog VARCHAR, record JSON, first_run BIGINT);
CREATE TABLE IF NOT EXISTS rejections (
    run_id BIGINT, file VARCHAR, pointer VARCHAR, reason VARCHAR);
CREATE TABLE IF NOT EXISTS notices (
    run_id BIGINT, tool_id VARCHAR, kind VARCHAR, message VARCHAR, file VARCHAR, pointer VARCHAR);
CREATE TABLE IF NOT EXISTS expansions (
    expansion_key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, generator VARCHAR, model VARCHAR,
    prompt_version INTEGER, expansion JSON, prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT,
    cost_usd DOUBLE, run_id BIGINT, created_at TIMESTAMP);
ALTER TABLE expansions ADD COLUMN IF NOT EXISTS completion VARCHAR;
ALTER TABLE expansions ADD COLUMN IF NOT EXISTS refused_by VARCHAR;
ALTER TABLE expansions ADD COLUMN IF NOT EXISTS checks VARCHAR;
ALTER TABLE expansions ADD COLUMN IF NOT EXISTS discarded_at TIMESTAMP;
CREATE TABLE IF NOT EXISTS failures (
    expansion_key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, generator VARCHAR, model VARCHAR,
    kind VARCHAR, message VARCHAR, prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT,
    cost_usd DOUBLE, run_id BIGINT, created_at TIMESTAMP);
ALTER TABLE failures ADD COLUMN IF NOT EXISTS completion VARCHAR;
CREATE TABLE IF NOT EXISTS questions (
    expansion_key VARCHAR, instructions_hash VARCHAR, message VARCHAR, parameters JSON, run_id BIGINT,
    created_at TIMESTAMP);
CREATE TABLE IF NOT EXISTS instructions (
    instructions_hash VARCHAR, prompt_version INTEGER, instructions VARCHAR, run_id BIGINT);
CREATE TABLE IF NOT EXISTS assessments (
    assessment_key VARCHAR, run_id BIGINT, created_at TIMESTAMP, assessment JSON);
CREATE TABLE IF NOT EXISTS batches (
    token VARCHAR, server VARCHAR, model VARCHAR, rung INTEGER, prompt_version INTEGER, run_id BIGINT,
    created_at TIMESTAMP, file_id VARCHAR, asked_at TIMESTAMP, batch_id VARCHAR, outcome VARCHAR, settled_at TIMESTAMP);
CREATE TABLE IF NOT EXISTS batch_requests (
    token VARCHAR, line INTEGER, key VARCHAR, record_hash VARCHAR, tool_id VARCHAR, name VARCHAR);
CREATE TABLE IF NOT EXISTS source_readings (
    catalog VARCHAR, area VARCHAR, source_key VARCHAR, source VARCHAR, read_at TIMESTAMP, run_id BIGINT,
    content_hash VARCHAR, snapshot VARCHAR, accepted BOOLEAN);
CREATE TABLE IF NOT EXISTS source_contents (content_hash VARCHAR, tool_ids JSON, content BLOB);
CREATE TABLE IF NOT EXISTS quarantine (
    catalog VARCHAR, area VARCHAR, tool_id VARCHAR, content_hash VARCHAR, kind VARCHAR, state VARCHAR, since TIMESTAMP,
    run_id BIGINT, requests INTEGER, probes INTEGER, distance DOUBLE, examples JSON, told BOOLEAN,
    decided_at TIMESTAMP);
CREATE TABLE IF NOT EXISTS baselines (catalog VARCHAR, area VARCHAR, tool_id VARCHAR, served JSON, run_id BIGINT);

CREATE OR REPLACE VIEW phrases AS
    SELECT tool_id, generator, model, unnest(from_json(expansion -> 'user_phrases', '["VARCHAR"]')) AS phrase
    FROM expansions;
CREATE OR REPLACE VIEW quarantined AS
    SELECT * EXCLUDE (state, told, decided_at) FROM quarantine WHERE state = 'held' ORDER BY since, tool_id;
CREATE OR REPLACE VIEW answers AS
    SELECT expansion_key, tool_id, generator, model,
        coalesce(outcome.prompt_version, instructions.prompt_version) AS prompt_version, message AS question,
        instructions, parameters, completion, expansion, kind, failure, prompt_tokens, completion_tokens, cost_usd,
        outcome.run_id, outcome.created_at, discarded_at
    FROM (FROM expansions UNION ALL BY NAME SELECT * RENAME (message AS failure) FROM failures) outcome
    LEFT JOIN questions USING (expansion_key) LEFT JOIN instructions USING (instructions_hash);

-- '*.name' holds for each column of that name without a line here.
WITH said(place, comment) AS (VALUES
    ('*.area', 'snapshots for builds that serve, evaluations for measured ones; NULL in runs of old versions.'),
    ('*.instructions_hash', 'The hash of the instructions, as in instructions.'),
    ('*.prompt_version', 'The version of the prompt; NULL for a failure whose question was not kept.'),
    ('*.record_hash', 'The hash of the record, as in records: of what the tool is, wherever it came from and whatever it is called.'),
    ('*.run_id', 'The run that stored it, as in runs.'),
    ('*.token', 'The batch: our own mark, which travels with it.'),
    ('*.cached_tokens', 'Tokens sent that the server had in its cache.'),
    ('*.catalog', 'The name of the catalog.'),
    ('*.completion', 'The text that the model wrote, unread; one text for all tools of a request that asks about several. NULL where no model wrote, and for rows of versions that did not keep it.'),
    ('*.completion_tokens', 'Tokens answered.'),
    ('*.content_hash', 'The hash of the record and the texts that the row is about. Other content is tried anew.'),
    ('*.cost_usd', 'US dollars; NULL where the price is unknown, 0 where it was free.'),
    ('*.created_at', 'When it was stored, UTC.'),
    ('*.discarded_at', 'When an operator discarded the answer, UTC: no build reads it. NULL where it may serve.'),
    ('*.distance', 'The mean share of the probes that are nearer to its name and first sentence than these.'),
    ('*.examples', 'A few of these requests, each with the tools that serve it: a JSON list.'),
    ('*.expansion_key', 'The hash of all that the answer depends on: the generator, its model and what it was shown. Those of a file and of earlier versions hold the record''s hash instead.'),
    ('*.file', 'The file.'),
    ('*.generator', 'Who was asked: file or openai; in rows of earlier versions lexicon, too.'),
    ('*.kind', 'new: it is left out; changed: it serves as it was.'),
    ('*.model', 'The model, or the file''s name.'),
    ('*.parameters', 'The other settings that the answer depends on. Of those of no known name, the hash.'),
    ('*.pointer', 'The place in the file, as a JSON pointer or a line.'),
    ('*.probes', 'How many requests it was tried on.'),
    ('*.prompt_tokens', 'Tokens sent, the cached among them.'),
    ('*.requests', 'How many requests of other providers'' tools it would enter the first five of.'),
    ('*.since', 'When it was first held back, UTC.'),
    ('*.tool_id', 'The tool''s id in its catalog.'),
    ('baselines', 'What a changed tool is measured against: as it was when a person last released it, or when it first served.'),
    ('baselines.served', 'Its record, what was written for it and its documents, as JSON.'),
    ('migrations', 'The changes of the tables that this file has had; the greatest number is its version.'),
    ('migrations.number', 'The number of the migration, in order.'),
    ('migrations.sentence', 'What it changed.'),
    ('migrations.applied_at', 'When it was run, UTC.'),
    ('runs', 'Every build, of every catalog of the workspace. Times are UTC.'),
    ('runs.run_id', 'The number of the run.'),
    ('runs.started_at', 'When it began.'),
    ('runs.finished_at', 'When it ended; NULL while it runs, or where it was killed.'),
    ('runs.outcome', 'published, unchanged, held, failed, running, or killed: it ended without a word.'),
    ('runs.snapshot', 'The snapshot that it ended with; NULL where it failed.'),
    ('runs.message', 'Why it failed, or was held back.'),
    ('runs.counts', 'The figures of its report; stored before the snapshot is written, and again at the end.'),
    ('records', 'Each version of each record, stored once.'),
    ('records.record', 'The record as canonical JSON.'),
    ('records.first_run', 'The run that first read it.'),
    ('rejections', 'What each run read and could not use.'),
    ('rejections.reason', 'Why it could not be used.'),
    ('notices', 'What an operator should know about tools that each run kept.'),
    ('notices.kind', 'merged, renamed, thin or open.'),
    ('notices.message', 'What was noticed.'),
    ('expansions', 'Every answer that a generator gave. Later builds reuse the first answer of a key that is neither discarded nor refused by their checks; no answer is ever deleted.'),
    ('expansions.expansion', 'The answer as it was read: tidied and cut to its limits, before any check.'),
    ('expansions.refused_by', 'The checks that refused all of the answer''s phrases, by name; NULL where some may serve.'),
    ('expansions.checks', 'The version of these checks. Those of another version judge the answer anew.'),
    ('failures', 'Every question that was asked and brought no usable answer. The next build asks again, after several failures a later one.'),
    ('failures.kind', 'shape, empty, mismatch, refusal, truncated, refused, rate, quota, timeout, connection or server.'),
    ('failures.message', 'What went wrong.'),
    ('questions', 'The message that asked a model about each tool. Stored as text, because it cannot be made again: the key is a hash, and the siblings that it shows stand nowhere else. Versions that did not keep it left no row.'),
    ('questions.message', 'The user message about this tool. A request that asks about several tools lists them together.'),
    ('instructions', 'The system message before every question, stored once for each version of it.'),
    ('instructions.instructions', 'The text. A server without structured output is also instructed how to form the answer.'),
    ('assessments', 'What checks against a whole catalog found, so that equal texts are assessed once.'),
    ('assessments.assessment_key', 'The hash of everything that was read: records, expansions, encoder, settings.'),
    ('assessments.assessment', 'The verdicts and the siblings.'),
    ('batches', 'Batches submitted to a model''s server. One that is not settled is collected by the next build.'),
    ('batches.server', 'The server''s address, without credentials.'),
    ('batches.model', 'The model that is asked.'),
    ('batches.rung', 'The output mode of its requests: 0 structured output, 1 JSON mode, 2 plain text.'),
    ('batches.file_id', 'The server''s id of the uploaded file; NULL before the upload.'),
    ('batches.asked_at', 'When the server was asked to create the batch, UTC.'),
    ('batches.batch_id', 'The server''s id of the batch; NULL before it answered.'),
    ('batches.outcome', 'The last status at the server, lost or not sent; NULL while it is not settled.'),
    ('batches.settled_at', 'When its answers were stored, UTC.'),
    ('batch_requests', 'The requests of each batch.'),
    ('batch_requests.line', 'The line of its file, from 1.'),
    ('batch_requests.key', 'The key of the answer, as expansion_key elsewhere.'),
    ('batch_requests.name', 'The tool''s name as the answer must repeat it.'),
    ('source_readings', 'The last good read of each source, which stands in while the source fails, and the last that was held back.'),
    ('source_readings.source_key', 'The hash of where and how the source is read.'),
    ('source_readings.source', 'The source''s path, program or address, without secrets.'),
    ('source_readings.read_at', 'When it was read, UTC.'),
    ('source_readings.content_hash', 'What it gave, as in source_contents.'),
    ('source_readings.snapshot', 'The snapshot that was built from it.'),
    ('source_readings.accepted', 'Whether that snapshot served. A read that a gate held back does not stand in.'),
    ('source_contents', 'What sources gave, stored once for equal content, and removed when no read names it.'),
    ('source_contents.content_hash', 'The hash of the content.'),
    ('source_contents.tool_ids', 'The ids of the tools, as a JSON list.'),
    ('source_contents.content', 'The definitions and rejections as they were read: JSON, compressed by gzip.'),
    ('quarantine', 'Tools that were held back by themselves, because they would take other tools'' requests, and those that were released.'),
    ('quarantine.state', 'held or released.'),
    ('quarantine.told', 'Whether a build has announced it.'),
    ('quarantine.decided_at', 'When it was released, UTC; NULL where it was not.'),
    ('quarantined', 'The tools that are held back now: the rows of quarantine that nobody has released.'),
    ('phrases', 'Each user phrase of each stored answer, checks aside.'),
    ('phrases.phrase', 'The phrase.'),
    ('answers', 'Every answer and failure with the question that was asked. The view phrase_sources of a snapshot has the key of each of its phrases.'),
    ('answers.question', 'The message about the tool; NULL where no model was asked, or it was not kept.'),
    ('answers.instructions', 'The system message before it.'),
    ('answers.expansion', 'The answer as it was read, before any check; NULL for a failure.'),
    ('answers.kind', 'The kind of failure; NULL for an answer.'),
    ('answers.failure', 'What went wrong; NULL for an answer.')
), named AS (
    SELECT 'COLUMN' AS kind, table_name || '.' || column_name AS place, '*.' || column_name AS shared
    FROM duckdb_columns() WHERE NOT internal
    UNION ALL SELECT 'TABLE', table_name, NULL FROM duckdb_tables() WHERE NOT internal
    UNION ALL SELECT 'VIEW', view_name, NULL FROM duckdb_views() WHERE NOT internal
)
SELECT format('COMMENT ON {} {} IS ''{}''', kind, place, replace(coalesce(own.comment, common.comment), '''', ''''''))
FROM named LEFT JOIN said own USING (place) LEFT JOIN said common ON common.place = shared
WHERE coalesce(own.comment, common.comment) IS NOT NULL AND place NOT LIKE 'vectors@_%' ESCAPE '@';
