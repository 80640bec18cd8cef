-- The views of the ledger, and what its tables, views and columns are: `schema` runs this where a file lacks it.

CREATE OR REPLACE VIEW phrases AS
    SELECT tool_id, generator, model, unnest(from_json(expansion -> 'user_phrases', '["VARCHAR"]')) AS phrase
    FROM expansions;
CREATE OR REPLACE VIEW quarantined AS
    SELECT * EXCLUDE (state, told, decided_at) FROM quarantine WHERE state = 'held' ORDER BY since, tool_id;
CREATE OR REPLACE VIEW answers AS
    SELECT expansion_key, tool_id, generator, model, expansions.prompt_version, message AS question, instructions,
        parameters, completion, expansion, NULL::VARCHAR AS kind, NULL::VARCHAR AS failure, prompt_tokens,
        completion_tokens, cost_usd, expansions.run_id, expansions.created_at
    FROM expansions LEFT JOIN questions USING (expansion_key) LEFT JOIN instructions USING (instructions_hash)
    UNION ALL
    SELECT expansion_key, tool_id, generator, model, prompt_version, questions.message, instructions, parameters,
        completion, NULL, kind, failures.message, prompt_tokens, completion_tokens, cost_usd, failures.run_id,
        failures.created_at
    FROM failures LEFT JOIN questions USING (expansion_key) LEFT JOIN instructions USING (instructions_hash);


COMMENT ON TABLE migrations IS
    'The changes of the tables that this file has had; the greatest number is its version.';
COMMENT ON COLUMN migrations.number IS 'The number of the migration, in order.';
COMMENT ON COLUMN migrations.sentence IS 'What it changed.';
COMMENT ON COLUMN migrations.applied_at IS 'When it was run, UTC.';

COMMENT ON TABLE runs IS 'Every build, of every catalog of the workspace. Times are UTC.';
COMMENT ON COLUMN runs.run_id IS 'The number of the run.';
COMMENT ON COLUMN runs.catalog IS 'The name of the catalog that was built.';
COMMENT ON COLUMN runs.started_at IS 'When it began.';
COMMENT ON COLUMN runs.finished_at IS 'When it ended; NULL while it runs, or where it was killed.';
COMMENT ON COLUMN runs.outcome IS 'published, unchanged, held, failed, running, or killed: it ended without a word.';
COMMENT ON COLUMN runs.snapshot IS 'The snapshot that it ended with; NULL where it failed.';
COMMENT ON COLUMN runs.message IS 'Why it failed, or was held back.';
COMMENT ON COLUMN runs.counts IS
    'The figures of its report; stored before the snapshot is written, and again at the end.';
COMMENT ON COLUMN runs.area IS
    'snapshots for builds that serve, evaluations for measured ones; NULL before this column existed.';

COMMENT ON TABLE records IS 'Each version of each record, stored once.';
COMMENT ON COLUMN records.record_hash IS
    'The hash of what the tool is, wherever it came from and whatever it is called.';
COMMENT ON COLUMN records.tool_id IS 'The tool''s id in its catalog.';
COMMENT ON COLUMN records.catalog IS 'The name of the catalog that has it.';
COMMENT ON COLUMN records.record IS 'The record as canonical JSON.';
COMMENT ON COLUMN records.first_run IS 'The run that first read it.';

COMMENT ON TABLE rejections IS 'What each run read and could not use.';
COMMENT ON COLUMN rejections.run_id IS 'The run, as in runs.';
COMMENT ON COLUMN rejections.file IS 'The file.';
COMMENT ON COLUMN rejections.pointer IS 'The place in the file, as a JSON pointer or a line.';
COMMENT ON COLUMN rejections.reason IS 'Why it could not be used.';

COMMENT ON TABLE notices IS 'What an operator should know about tools that each run kept.';
COMMENT ON COLUMN notices.run_id IS 'The run, as in runs.';
COMMENT ON COLUMN notices.tool_id IS 'The tool''s id in its catalog.';
COMMENT ON COLUMN notices.kind IS 'merged, renamed, thin or open.';
COMMENT ON COLUMN notices.message IS 'What was noticed.';
COMMENT ON COLUMN notices.file IS 'The file that the tool was read from.';
COMMENT ON COLUMN notices.pointer IS 'The place in the file, as a JSON pointer or a line.';

COMMENT ON TABLE expansions IS
    'Every answer that a generator gave. Later builds reuse the first answer of a key; no answer is ever deleted.';
COMMENT ON COLUMN expansions.expansion_key IS
    'The hash of all that the answer depends on: the generator, its model and what it was shown. Those of a file, of the lexicon and of earlier versions hold the record''s hash instead.';
COMMENT ON COLUMN expansions.record_hash IS 'The hash of the record that the answer is about, as in records.';
COMMENT ON COLUMN expansions.tool_id IS 'The tool''s id in its catalog.';
COMMENT ON COLUMN expansions.generator IS 'Who was asked: file, openai or lexicon.';
COMMENT ON COLUMN expansions.model IS 'The model, the file''s name, or the lexicon''s version.';
COMMENT ON COLUMN expansions.prompt_version IS 'The version of the prompt.';
COMMENT ON COLUMN expansions.expansion IS 'The answer as it was read: tidied and cut to its limits, before any check.';
COMMENT ON COLUMN expansions.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN expansions.cached_tokens IS 'Tokens sent that the server had in its cache.';
COMMENT ON COLUMN expansions.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN expansions.cost_usd IS 'US dollars; NULL where the price is unknown, 0 where it was free.';
COMMENT ON COLUMN expansions.run_id IS 'The run that paid for it, as in runs.';
COMMENT ON COLUMN expansions.created_at IS 'When it was stored, UTC.';
COMMENT ON COLUMN expansions.completion IS
    'The text that the model wrote, unread; one text for all tools of a request that asks about several. NULL where no model wrote, and for rows of versions that did not keep it.';

COMMENT ON TABLE failures IS
    'Every question that was asked and brought no usable answer. The next build asks again.';
COMMENT ON COLUMN failures.expansion_key IS
    'The hash of all that the answer depends on: the generator, its model and what it was shown. Those of a file, of the lexicon and of earlier versions hold the record''s hash instead.';
COMMENT ON COLUMN failures.record_hash IS 'The hash of the record that the answer is about, as in records.';
COMMENT ON COLUMN failures.tool_id IS 'The tool''s id in its catalog.';
COMMENT ON COLUMN failures.generator IS 'Who was asked: file, openai or lexicon.';
COMMENT ON COLUMN failures.model IS 'The model, the file''s name, or the lexicon''s version.';
COMMENT ON COLUMN failures.kind IS
    'shape, empty, mismatch, refusal, truncated, refused, rate, quota, timeout, connection or server.';
COMMENT ON COLUMN failures.message IS 'What went wrong.';
COMMENT ON COLUMN failures.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN failures.cached_tokens IS 'Tokens sent that the server had in its cache.';
COMMENT ON COLUMN failures.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN failures.cost_usd IS 'US dollars; NULL where the price is unknown, 0 where it was free.';
COMMENT ON COLUMN failures.run_id IS 'The run that paid for it, as in runs.';
COMMENT ON COLUMN failures.created_at IS 'When it was stored, UTC.';
COMMENT ON COLUMN failures.completion IS
    'The text that the model wrote, unread; one text for all tools of a request that asks about several. NULL where no model wrote, and for rows of versions that did not keep it.';

COMMENT ON TABLE questions IS
    'The message that asked a model about each tool. Stored as text, because it cannot be made again: the key is a hash, and the siblings that it shows stand nowhere else. Versions that did not keep it left no row.';
COMMENT ON COLUMN questions.expansion_key IS
    'The hash of all that the answer depends on: the generator, its model and what it was shown. Those of a file, of the lexicon and of earlier versions hold the record''s hash instead.';
COMMENT ON COLUMN questions.instructions_hash IS 'The instructions before the message, as in instructions.';
COMMENT ON COLUMN questions.message IS
    'The user message about this tool. A request that asks about several tools lists them together.';
COMMENT ON COLUMN questions.parameters IS
    'The other settings that the answer depends on. Of those of no known name, the hash.';
COMMENT ON COLUMN questions.run_id IS 'The run that first asked, or meant to.';
COMMENT ON COLUMN questions.created_at IS 'When it was stored, UTC.';

COMMENT ON TABLE instructions IS 'The system message before every question, stored once for each version of it.';
COMMENT ON COLUMN instructions.instructions_hash IS 'The hash of the text.';
COMMENT ON COLUMN instructions.prompt_version IS 'The version of the prompt.';
COMMENT ON COLUMN instructions.instructions IS
    'The text. A server without structured output is also told how to form the answer.';
COMMENT ON COLUMN instructions.run_id IS 'The run that first used it.';

COMMENT ON TABLE assessments IS
    'What checks against a whole catalog found, so that equal texts are assessed once.';
COMMENT ON COLUMN assessments.assessment_key IS
    'The hash of everything that was read: records, expansions, encoder, settings.';
COMMENT ON COLUMN assessments.run_id IS 'The run, as in runs.';
COMMENT ON COLUMN assessments.created_at IS 'When it was stored, UTC.';
COMMENT ON COLUMN assessments.assessment IS 'The verdicts and the siblings.';

COMMENT ON TABLE batches IS
    'Batches submitted to a model''s server. One that is not settled is collected by the next build.';
COMMENT ON COLUMN batches.token IS 'Our own mark, which travels with the batch.';
COMMENT ON COLUMN batches.server IS 'The server''s address, without credentials.';
COMMENT ON COLUMN batches.model IS 'The model that is asked.';
COMMENT ON COLUMN batches.rung IS 'The output mode of its requests: 0 structured output, 1 JSON mode, 2 plain text.';
COMMENT ON COLUMN batches.prompt_version IS 'The version of the prompt.';
COMMENT ON COLUMN batches.run_id IS 'The run that submitted it.';
COMMENT ON COLUMN batches.created_at IS 'When it was stored, before it was submitted; UTC.';
COMMENT ON COLUMN batches.file_id IS 'The server''s id of the uploaded file; NULL before the upload.';
COMMENT ON COLUMN batches.asked_at IS 'When the server was asked to create the batch, UTC.';
COMMENT ON COLUMN batches.batch_id IS 'The server''s id of the batch; NULL before it answered.';
COMMENT ON COLUMN batches.outcome IS 'The last status at the server, lost or not sent; NULL while it is not settled.';
COMMENT ON COLUMN batches.settled_at IS 'When its answers were stored, UTC.';

COMMENT ON TABLE batch_requests IS 'The requests of each batch.';
COMMENT ON COLUMN batch_requests.token IS 'The batch, as in batches.';
COMMENT ON COLUMN batch_requests.line IS 'The line of its file, from 1.';
COMMENT ON COLUMN batch_requests.key IS 'The key of the answer, as expansion_key elsewhere.';
COMMENT ON COLUMN batch_requests.record_hash IS 'The hash of the record that the answer is about, as in records.';
COMMENT ON COLUMN batch_requests.tool_id IS 'The tool''s id in its catalog.';
COMMENT ON COLUMN batch_requests.name IS 'The tool''s name as the answer must repeat it.';

COMMENT ON TABLE source_readings IS
    'The last good read of each source, which stands in while the source fails, and the last that was held back.';
COMMENT ON COLUMN source_readings.catalog IS 'The name of the catalog.';
COMMENT ON COLUMN source_readings.area IS 'As in runs.';
COMMENT ON COLUMN source_readings.source_key IS 'The hash of where and how the source is read.';
COMMENT ON COLUMN source_readings.source IS 'The source''s path, program or address, without secrets.';
COMMENT ON COLUMN source_readings.read_at IS 'When it was read, UTC.';
COMMENT ON COLUMN source_readings.run_id IS 'The run that read it, as in runs.';
COMMENT ON COLUMN source_readings.content_hash IS 'What it gave, as in source_contents.';
COMMENT ON COLUMN source_readings.snapshot IS 'The snapshot that was built from it.';
COMMENT ON COLUMN source_readings.accepted IS
    'Whether that snapshot served. A read that a gate held back does not stand in.';

COMMENT ON TABLE source_contents IS
    'What sources gave, stored once for equal content, and removed when no read names it.';
COMMENT ON COLUMN source_contents.content_hash IS 'The hash of the content.';
COMMENT ON COLUMN source_contents.tool_ids IS 'The ids of the tools, as a JSON list.';
COMMENT ON COLUMN source_contents.content IS
    'The definitions and rejections as they were read: JSON, compressed by gzip.';

COMMENT ON TABLE quarantine IS
    'Tools that were held back alone, because they would take other tools'' requests, and those that were released.';
COMMENT ON COLUMN quarantine.catalog IS 'The catalog.';
COMMENT ON COLUMN quarantine.area IS 'The folder of the snapshots, as in runs.';
COMMENT ON COLUMN quarantine.tool_id IS 'The tool''s id in its catalog.';
COMMENT ON COLUMN quarantine.content_hash IS
    'The hash of the record and the texts that the row is about. Other content is tried anew.';
COMMENT ON COLUMN quarantine.kind IS 'new: it is left out; changed: it serves as it was.';
COMMENT ON COLUMN quarantine.state IS 'held or released.';
COMMENT ON COLUMN quarantine.since IS 'When it was first held back, UTC.';
COMMENT ON COLUMN quarantine.run_id IS 'The run that held it back first, as in runs.';
COMMENT ON COLUMN quarantine.requests IS
    'How many requests of other providers'' tools it would enter the first five of.';
COMMENT ON COLUMN quarantine.probes IS 'How many requests it was tried on.';
COMMENT ON COLUMN quarantine.distance IS
    'The mean share of the probes that are nearer to its name and first sentence than these.';
COMMENT ON COLUMN quarantine.examples IS 'A few of these requests, each with the tools that serve it: a JSON list.';
COMMENT ON COLUMN quarantine.told IS 'Whether a build has told of it.';
COMMENT ON COLUMN quarantine.decided_at IS 'When it was released, UTC; NULL where it was not.';

COMMENT ON VIEW quarantined IS
    'The tools that are held back now: the rows of quarantine that nobody has released.';
COMMENT ON COLUMN quarantined.catalog IS 'The catalog.';
COMMENT ON COLUMN quarantined.area IS 'The folder of the snapshots, as in runs.';
COMMENT ON COLUMN quarantined.tool_id IS 'The tool''s id in its catalog.';
COMMENT ON COLUMN quarantined.content_hash IS
    'The hash of the record and the texts that the row is about. Other content is tried anew.';
COMMENT ON COLUMN quarantined.kind IS 'new: it is left out; changed: it serves as it was.';
COMMENT ON COLUMN quarantined.since IS 'When it was first held back, UTC.';
COMMENT ON COLUMN quarantined.run_id IS 'The run that held it back first, as in runs.';
COMMENT ON COLUMN quarantined.requests IS
    'How many requests of other providers'' tools it would enter the first five of.';
COMMENT ON COLUMN quarantined.probes IS 'How many requests it was tried on.';
COMMENT ON COLUMN quarantined.distance IS
    'The mean share of the probes that are nearer to its name and first sentence than these.';
COMMENT ON COLUMN quarantined.examples IS 'A few of these requests, each with the tools that serve it: a JSON list.';

COMMENT ON VIEW phrases IS 'Each user phrase of each stored answer, checks aside.';
COMMENT ON COLUMN phrases.tool_id IS 'The tool''s id in its catalog.';
COMMENT ON COLUMN phrases.generator IS 'Who was asked: file, openai or lexicon.';
COMMENT ON COLUMN phrases.model IS 'The model, the file''s name, or the lexicon''s version.';
COMMENT ON COLUMN phrases.phrase IS 'The phrase.';

COMMENT ON VIEW answers IS
    'Every answer and failure with the question that was asked. The view phrase_sources of a snapshot has the key of each of its phrases.';
COMMENT ON COLUMN answers.expansion_key IS
    'The hash of all that the answer depends on: the generator, its model and what it was shown. Those of a file, of the lexicon and of earlier versions hold the record''s hash instead.';
COMMENT ON COLUMN answers.tool_id IS 'The tool''s id in its catalog.';
COMMENT ON COLUMN answers.generator IS 'Who was asked: file, openai or lexicon.';
COMMENT ON COLUMN answers.model IS 'The model, the file''s name, or the lexicon''s version.';
COMMENT ON COLUMN answers.prompt_version IS
    'The version of the prompt; NULL for a failure whose question was not kept.';
COMMENT ON COLUMN answers.question IS 'The message about the tool; NULL where no model was asked, or it was not kept.';
COMMENT ON COLUMN answers.instructions IS 'The system message before it.';
COMMENT ON COLUMN answers.parameters IS
    'The other settings that the answer depends on. Of those of no known name, the hash.';
COMMENT ON COLUMN answers.completion IS
    'The text that the model wrote, unread; one text for all tools of a request that asks about several. NULL where no model wrote, and for rows of versions that did not keep it.';
COMMENT ON COLUMN answers.expansion IS 'The answer as it was read, before any check; NULL for a failure.';
COMMENT ON COLUMN answers.kind IS 'The kind of failure; NULL for an answer.';
COMMENT ON COLUMN answers.failure IS 'What went wrong; NULL for an answer.';
COMMENT ON COLUMN answers.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN answers.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN answers.cost_usd IS 'US dollars; NULL where the price is unknown, 0 where it was free.';
COMMENT ON COLUMN answers.run_id IS 'The run that paid for it, as in runs.';
COMMENT ON COLUMN answers.created_at IS 'When it was stored, UTC.';
