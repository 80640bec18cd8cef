-- What the tables are, and the questions that people ask of them. The comments are the documentation:
--   SELECT view_name, comment FROM duckdb_views() WHERE NOT internal
-- Their first sentence must stand alone: it is what a list of them shows.

COMMENT ON TABLE snapshot IS 'This snapshot, in one row. `previous` is the one that served when this was written, and that `changes` compares with; NULL where there was none, or it could not be opened. Times are UTC.';
COMMENT ON COLUMN snapshot.run_id IS 'The build that wrote it, as in builds.';
COMMENT ON COLUMN snapshot.encoder IS 'The model of the vectors; NULL where there are none.';
COMMENT ON COLUMN snapshot.recipe IS 'The recipe of requests that name none.';
COMMENT ON COLUMN snapshot.format IS 'The version of the snapshot''s files.';
COMMENT ON COLUMN snapshot.previous IS 'The snapshot that `changes` compares with.';

COMMENT ON TABLE tools IS 'The tools, in the order of their ordinals, with the four texts that each is found by.';
COMMENT ON COLUMN tools.ordinal IS 'The tool''s number in this snapshot, in the indexes and in the vectors.';
COMMENT ON COLUMN tools.input_schema IS 'The JSON Schema that a model is given.';
COMMENT ON COLUMN tools.tags IS 'The categories, then the hints of MCP that are set.';
COMMENT ON COLUMN tools.annotations IS 'The vendor''s hints: shown, never trusted.';
COMMENT ON COLUMN tools.record_hash IS 'The hash of what the tool is, wherever it came from and whatever it is called here.';
COMMENT ON COLUMN tools.dense_document IS 'The text that the tool''s vector was made from.';

COMMENT ON TABLE parameters IS 'The parameters of each tool: its input schema as rows.';
COMMENT ON COLUMN parameters.path IS 'Dotted, with [] for the items of an array.';

COMMENT ON TABLE expansions IS 'How people ask for each tool, as a generator wrote it, and what that cost, whichever build paid for it. A tool without a row has no expansion.';
COMMENT ON COLUMN expansions.generator IS 'Who wrote it: file, openai or lexicon.';
COMMENT ON COLUMN expansions.model IS 'The model, the file''s name, or the lexicon''s version.';
COMMENT ON COLUMN expansions.translations IS 'Phrases by language, as they were written; those in the catalog''s languages are in phrases.';
COMMENT ON COLUMN expansions.expansion_key IS 'The hash of all that made it: record, prompt, model, parameters.';
COMMENT ON COLUMN expansions.cost_usd IS 'US dollars; NULL where the price is unknown, 0 where it was free.';
COMMENT ON COLUMN expansions.run_id IS 'The build that paid for it, perhaps of another catalog of the workspace.';

COMMENT ON TABLE phrases IS 'The phrases of each tool: English ones in the order of their vectors, when to use it last, then other languages.';
COMMENT ON COLUMN phrases.position IS 'The number of the phrase within its tool, from 0; `vectors` has the English ones by it.';
COMMENT ON COLUMN phrases.language IS 'The ISO 639-1 code of its language, in which it is indexed.';

COMMENT ON TABLE verdicts IS 'What the checks found in the texts written for the tools: each text that was left out or noted, and why. A text without a row was kept.';
COMMENT ON COLUMN verdicts.field IS 'The part of the expansion that the text comes from, or description.';
COMMENT ON COLUMN verdicts.check_name IS 'The check that found something.';
COMMENT ON COLUMN verdicts.consequence IS 'dropped: not indexed; noted: indexed all the same.';
COMMENT ON COLUMN verdicts.detail IS 'What the check found: the other tool, the URL, the rank.';

COMMENT ON TABLE siblings IS 'Tools whose phrases fit another tool as well or better, with that other tool, most collisions first.';

COMMENT ON TABLE vectors IS 'The normalised vectors: one for each tool (position NULL) and one for each phrase. Empty where the catalog was built without an encoder.';
COMMENT ON COLUMN vectors.position IS 'The phrase''s position; NULL for the vector of the tool as a whole.';

COMMENT ON TABLE rejections IS 'The records, and the lines of expansions, that could not be used, with the place and the reason.';

COMMENT ON TABLE notices IS 'What an operator should know about tools that were kept: merged, renamed, thin, open.';

COMMENT ON TABLE coverage IS 'What was read of each source, and what was not. Counts are of records, and of the tools that they became.';
COMMENT ON COLUMN coverage.source IS 'The source as catalog.toml names it: its path, program or address.';
COMMENT ON COLUMN coverage.records IS 'All that it holds, the rejected too.';
COMMENT ON COLUMN coverage.described IS 'Tools with a description.';
COMMENT ON COLUMN coverage.with_parameters IS 'Tools with a parameter or more.';
COMMENT ON COLUMN coverage.lost_parameters IS 'Tools that declare parameters in a shape that no reader knows.';
COMMENT ON COLUMN coverage.reasons IS 'Why records were rejected, and how many for each reason; each is in rejections.';
COMMENT ON COLUMN coverage.shapes IS 'Where the parameters stood and in which shape, and in how many tools.';
COMMENT ON COLUMN coverage.problems IS 'What to look at, in sentences.';

COMMENT ON TABLE unread_keys IS 'Keys of records that no reader knows and that look as if they mattered: they are on many records, or called like a field. [source.fields] in catalog.toml maps them.';
COMMENT ON COLUMN unread_keys.records IS 'How many of the source''s records have it.';
COMMENT ON COLUMN unread_keys.example IS 'What it says on the first of them, shortened.';

COMMENT ON TABLE failures IS 'Tools that a generator failed on: all failures of this build, and the last one of an earlier build where no answer has replaced it since. Such a tool has the lexicon''s words or none.';
COMMENT ON COLUMN failures.kind IS 'shape, empty, mismatch, refusal, truncated, refused, rate, quota, timeout, connection or server.';
COMMENT ON COLUMN failures.cost_usd IS 'US dollars; NULL where the price is unknown. A failure may have been paid for.';
COMMENT ON COLUMN failures.words_by IS 'The generator whose words are used instead; NULL where there are none.';

COMMENT ON TABLE builds IS 'Every build of this catalog, up to the one that wrote this. That one was still running: its finished_at is NULL and its outcome ''running'', as for a build that was killed. Times are UTC.';
COMMENT ON COLUMN builds.area IS '''snapshots'' for builds that serve, ''evaluations'' for builds that were only measured; NULL where the build is older than this column.';
COMMENT ON COLUMN builds.outcome IS 'published, unchanged, held, failed or running.';
COMMENT ON COLUMN builds.message IS 'Why it failed, or was held back.';
COMMENT ON COLUMN builds.asked IS 'How many questions each generator was asked.';
COMMENT ON COLUMN builds.estimated_usd IS 'US dollars, as estimated before the first question.';
COMMENT ON COLUMN builds.cost_usd IS 'US dollars for all questions, failures too; NULL where a price is unknown.';

COMMENT ON TABLE history IS 'What happened to each tool, oldest first: first seen, changed, expansion written, expansion failed. The ledger keeps each record once, so a tool that returned to an earlier text has no line for that.';
COMMENT ON COLUMN history.run_id IS 'The build in which it happened; for an expansion, perhaps of another catalog of the workspace.';
COMMENT ON COLUMN history.detail IS 'What changed, or who wrote it, the tokens and the cost, or why it failed.';

COMMENT ON TABLE changes IS 'What differs from the snapshot that served when this one was written: see snapshot.previous. Empty where there was none.';
COMMENT ON COLUMN changes.change IS 'added, removed or changed.';
COMMENT ON COLUMN changes.what IS 'The parts of a changed tool that differ: name, provider, description, schema, examples, categories, annotations, deprecated, expansion.';

CREATE VIEW unread_sources AS
SELECT source, records, tools, rejected, lost_parameters, unnest(problems) AS problem
FROM coverage
WHERE len(problems) > 0
ORDER BY lost_parameters DESC, rejected DESC, source;
COMMENT ON VIEW unread_sources IS 'Sources of which something was not read, one row a problem, lost parameters first. Empty where all was read.';
COMMENT ON COLUMN unread_sources.source IS 'The source.';
COMMENT ON COLUMN unread_sources.records IS 'Its records.';
COMMENT ON COLUMN unread_sources.tools IS 'The tools that they became.';
COMMENT ON COLUMN unread_sources.rejected IS 'The records that could not be used.';
COMMENT ON COLUMN unread_sources.lost_parameters IS 'Tools whose parameters could not be read.';
COMMENT ON COLUMN unread_sources.problem IS 'What was not read, in a sentence.';

-- A letter of Chinese, Japanese or Thai counts as a word: those scripts leave no spaces.
CREATE VIEW thin_descriptions AS
SELECT tool_id, provider, len(regexp_extract_all(description,
    '[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]|[\p{L}\p{M}\p{N}_''-]+')) AS words, description
FROM tools
WHERE words < 6
ORDER BY words, tool_id;
COMMENT ON VIEW thin_descriptions IS 'Tools described in fewer than 6 words, fewest first. That is about the length of "Returns a list of past charges": what is shorter says little more than the name, and search has only name and schema to go by.';
COMMENT ON COLUMN thin_descriptions.tool_id IS 'The tool.';
COMMENT ON COLUMN thin_descriptions.provider IS 'Its provider.';
COMMENT ON COLUMN thin_descriptions.words IS 'The words of the description; a character of a script without spaces is one.';
COMMENT ON COLUMN thin_descriptions.description IS 'The description itself, maybe empty.';

-- A problem stands out beside the rest of the catalog: what more than a quarter of the tools have is how the catalog was
-- written. Near-repeats that were dropped cost a tool nothing; a thin description is filled up by a model's phrases.
CREATE VIEW worst_tools AS
WITH facts AS (
    SELECT tool_id, tools.provider, coalesce(generator, 'nobody') AS writer, words IS NOT NULL AS thin,
        coalesce(dropped, 0) AS dropped, coalesce(lost, 0) AS lost, coalesce(kept, 0) AS kept,
        coalesce(collisions, 0) AS collisions
    FROM tools
    LEFT JOIN expansions USING (tool_id)
    LEFT JOIN (SELECT tool_id, words FROM thin_descriptions) USING (tool_id)
    LEFT JOIN (
        SELECT tool_id, count(*) AS dropped,
            count(*) FILTER (check_name <> 'repeat' AND (field = 'user_phrases' OR field LIKE 'translations%')) AS lost
        FROM verdicts WHERE consequence = 'dropped' GROUP BY tool_id
    ) USING (tool_id)
    LEFT JOIN (SELECT tool_id, count(*) AS kept FROM phrases GROUP BY tool_id) USING (tool_id)
    LEFT JOIN (SELECT tool_id, count(*) AS collisions FROM siblings GROUP BY tool_id) USING (tool_id)
), problems AS (
    SELECT *,
        writer = 'nobody' AND avg((writer <> 'nobody')::INT) OVER () >= 0.5 AS unwritten,
        writer = 'lexicon' AND avg((writer NOT IN ('nobody', 'lexicon'))::INT) OVER () >= 0.5 AS stopgap,
        thin AND writer IN ('nobody', 'lexicon') AS unknown,
        lost > 0 AND lost >= kept AS stripped,
        collisions >= 3 AS confusable
    FROM facts
), standing_out AS (
    SELECT tool_id, provider, dropped, collisions, concat_ws(', ',
            CASE WHEN unwritten THEN 'no expansion' WHEN stopgap THEN 'only the lexicon''s words' END,
            CASE WHEN unknown AND avg(unknown::INT) OVER () <= 0.25 THEN 'thin description' END,
            CASE WHEN stripped AND avg(stripped::INT) OVER () <= 0.25
                THEN lost || ' of ' || (lost + kept) || ' phrases dropped' END,
            CASE WHEN confusable AND avg(confusable::INT) OVER () <= 0.25
                THEN 'phrases that fit ' || collisions || ' siblings as well' END
        ) AS problems
    FROM problems
)
SELECT tool_id, provider, problems, dropped, collisions
FROM standing_out
WHERE problems <> ''
ORDER BY len(string_split(problems, ', ')) DESC, dropped + collisions DESC, tool_id;
COMMENT ON VIEW worst_tools IS 'Tools that search will find worse than the rest of this catalog, worst first, and why: no expansion or only the lexicon''s words where most tools have better, a thin description that no model filled up, phrases that were dropped, phrases that fit siblings as well. Empty where no tool stands out.';
COMMENT ON COLUMN worst_tools.tool_id IS 'The tool.';
COMMENT ON COLUMN worst_tools.provider IS 'Its provider.';
COMMENT ON COLUMN worst_tools.problems IS 'What is wrong, in words.';
COMMENT ON COLUMN worst_tools.dropped IS 'Texts of its expansion that a check left out: see verdicts.';
COMMENT ON COLUMN worst_tools.collisions IS 'Tools that its phrases fit as well, three at most: see siblings.';

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

CREATE VIEW duplicates AS
SELECT count(*) AS copies, list(tool_id ORDER BY tool_id) AS tool_ids, description
FROM tools
WHERE description <> ''
GROUP BY description, input_schema
HAVING copies > 1
ORDER BY copies DESC, tool_ids;
COMMENT ON VIEW duplicates IS 'Tools of the same description and schema under different ids, most copies first. Only their names tell them apart; those without any description are in thin_descriptions.';
COMMENT ON COLUMN duplicates.copies IS 'How many tools say the same.';
COMMENT ON COLUMN duplicates.tool_ids IS 'Their ids.';
COMMENT ON COLUMN duplicates.description IS 'What they all say.';

CREATE VIEW shared_phrases AS
SELECT lower(phrase) AS phrase, count(DISTINCT tool_id) AS tools, list(DISTINCT tool_id ORDER BY tool_id) AS tool_ids
FROM phrases
GROUP BY lower(phrase)
HAVING tools > 1
ORDER BY tools DESC, lower(phrase);
COMMENT ON VIEW shared_phrases IS 'Phrases that were written for several tools, most tools first, case aside. A request in such words fits them all, so they are easily confused.';
COMMENT ON COLUMN shared_phrases.phrase IS 'The phrase, in lower case.';
COMMENT ON COLUMN shared_phrases.tools IS 'How many tools have it.';
COMMENT ON COLUMN shared_phrases.tool_ids IS 'Their ids.';

CREATE MACRO neighbours(tool, k := 10) AS TABLE
SELECT row_number() OVER (ORDER BY cosine DESC, tool_id) AS rank, tool_id, cosine
FROM (
    SELECT other.tool_id, array_cosine_similarity(other.vector, own.vector) AS cosine
    FROM vectors own JOIN vectors other ON other.tool_id <> own.tool_id
    WHERE own.tool_id = tool AND own.position IS NULL AND other.position IS NULL
)
QUALIFY rank <= k
ORDER BY rank;
COMMENT ON MACRO TABLE neighbours IS 'FROM neighbours(''a/tool'', k := 10): the other tools whose vectors are nearest, by cosine, ties by id. Nothing where there are no vectors.';

-- The greatest of rows, not a window over the pairs: 0.7 s instead of 15 s among 90,000 phrases.
CREATE MACRO phrase_neighbours(tool, k := 10) AS TABLE
WITH nearest AS (
    SELECT tool_id, max({'cosine': cosine, 'own': -own_position, 'other': -other_position}) AS best
    FROM (
        SELECT other.tool_id, own.position AS own_position, other.position AS other_position,
            array_cosine_similarity(other.vector, own.vector) AS cosine
        FROM vectors own, vectors other
        WHERE own.tool_id = tool AND other.tool_id <> tool AND own.position IS NOT NULL AND other.position IS NOT NULL
    )
    GROUP BY tool_id
)
SELECT row_number() OVER (ORDER BY best.cosine DESC, nearest.tool_id) AS rank, nearest.tool_id, best.cosine AS cosine,
    own.phrase, other.phrase AS other_phrase
FROM nearest
JOIN phrases own ON own.tool_id = tool AND own.position = -best.own
JOIN phrases other ON other.tool_id = nearest.tool_id AND other.position = -best.other
QUALIFY rank <= k
ORDER BY rank;
COMMENT ON MACRO TABLE phrase_neighbours IS 'FROM phrase_neighbours(''a/tool'', k := 10): the other tools that have a phrase nearest to one of this tool''s, by cosine, with both phrases. Nothing where there are no vectors.';
