-- Questions that people ask of the tables, as views. The first sentence of a comment must stand alone: it is what a list
-- shows. What is asked of vectors is in vectors.sql.

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

CREATE VIEW unread_descriptions AS
SELECT tool_id, tools.provider, coalesce(english, 0) AS english_phrases, description
FROM tools
LEFT JOIN (
    SELECT tool_id, count(*) AS english FROM phrases
    WHERE language = 'en' AND regexp_matches(phrase, '\p{Latin}{2}') GROUP BY tool_id
) USING (tool_id)
WHERE unread
ORDER BY english_phrases, tool_id;
COMMENT ON VIEW unread_descriptions IS 'Tools described in another language than English, those with the fewest English phrases first. English requests find them by name and English phrases alone: a tool without any is found by its name or not at all.';
COMMENT ON COLUMN unread_descriptions.tool_id IS 'The tool.';
COMMENT ON COLUMN unread_descriptions.provider IS 'Its provider.';
COMMENT ON COLUMN unread_descriptions.english_phrases IS 'Its phrases in Latin letters.';
COMMENT ON COLUMN unread_descriptions.description IS 'The description.';

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
        thin AND writer = 'nobody' AS unknown,
        lost > 0 AND lost >= kept AS stripped,
        collisions >= 3 AS confusable
    FROM facts
), standing_out AS (
    SELECT tool_id, provider, dropped, collisions, concat_ws(', ',
            CASE WHEN unwritten THEN 'no expansion' END,
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
COMMENT ON VIEW worst_tools IS 'Tools that search will find worse than the rest of this catalog, worst first, and why: no expansion where most tools have one, a thin description that no model filled up, phrases that were dropped, phrases that fit siblings as well. Empty where no tool stands out.';
COMMENT ON COLUMN worst_tools.tool_id IS 'The tool.';
COMMENT ON COLUMN worst_tools.provider IS 'Its provider.';
COMMENT ON COLUMN worst_tools.problems IS 'What is wrong, in words.';
COMMENT ON COLUMN worst_tools.dropped IS 'Texts of its expansion that a check left out: see verdicts.';
COMMENT ON COLUMN worst_tools.collisions IS 'Tools that its phrases fit as well, three at most: see siblings.';

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

-- Every phrase of a tool comes from its one expansion, but for those of phrases.jsonl.
CREATE VIEW phrase_sources AS
SELECT phrases.tool_id, position, phrase, language,
    CASE WHEN language NOT IN ('en', 'und') THEN 'translations' WHEN list_contains(expansions.user_phrases, phrase) THEN 'user_phrases'
        ELSE 'when_to_use' END AS field,
    source AS generator, answer.model, answer.expansion_key, answer.run_id, answer.written_at
FROM phrases JOIN expansions USING (tool_id)
LEFT JOIN expansions answer ON answer.tool_id = phrases.tool_id AND answer.generator = source
ORDER BY phrases.tool_id, position;
COMMENT ON VIEW phrase_sources IS 'Who wrote each phrase, and the key of the answer that it stands in. The view answers of the workspace''s ledger.duckdb has the question, the text that the model wrote and the cost under that key.';
COMMENT ON COLUMN phrase_sources.tool_id IS 'The tool.';
COMMENT ON COLUMN phrase_sources.position IS 'The number of the phrase within its tool, from 0.';
COMMENT ON COLUMN phrase_sources.phrase IS 'The phrase.';
COMMENT ON COLUMN phrase_sources.language IS 'The ISO 639-1 code of its language; und: indexed as English, and not English.';
COMMENT ON COLUMN phrase_sources.field IS 'The part of the answer that it stands in: user_phrases, when_to_use or translations.';
COMMENT ON COLUMN phrase_sources.generator IS 'Who wrote it: file or openai; person for phrases of phrases.jsonl.';
COMMENT ON COLUMN phrase_sources.model IS 'The model, or the file''s name.';
COMMENT ON COLUMN phrase_sources.expansion_key IS 'The key of the answer in the ledger.';
COMMENT ON COLUMN phrase_sources.run_id IS 'The build that paid for the answer.';
COMMENT ON COLUMN phrase_sources.written_at IS 'When the answer was stored, UTC.';

CREATE VIEW left_out AS
SELECT * EXCLUDE (consequence) FROM verdicts WHERE consequence = 'dropped' ORDER BY tool_id, field, check_name, text;
COMMENT ON VIEW left_out IS 'What the checks left out of the index: the rows of verdicts that are more than noted.';
COMMENT ON COLUMN left_out.tool_id IS 'The tool that it was written for.';
COMMENT ON COLUMN left_out.field IS 'The part of the expansion that it comes from, or of the record.';
COMMENT ON COLUMN left_out.text IS 'The text.';
COMMENT ON COLUMN left_out.check_name IS 'The check that found something.';
COMMENT ON COLUMN left_out.detail IS 'What it found, as in verdicts.';

CREATE VIEW collisions AS
SELECT verdicts.tool_id, text AS phrase, detail AS other_id, sibling.rank IS NOT NULL AS is_sibling
FROM verdicts LEFT JOIN siblings sibling ON sibling.tool_id = verdicts.tool_id AND sibling.sibling_id = detail
WHERE check_name = 'collision'
ORDER BY verdicts.tool_id, detail, text;
COMMENT ON VIEW collisions IS 'Phrases that fit another tool as well as their own or better, with that other tool. They are indexed all the same. Empty where the phrases were not assessed.';
COMMENT ON COLUMN collisions.tool_id IS 'The tool that the phrase was written for.';
COMMENT ON COLUMN collisions.phrase IS 'The phrase.';
COMMENT ON COLUMN collisions.other_id IS 'The other tool that it fits.';
COMMENT ON COLUMN collisions.is_sibling IS 'Whether enough phrases fit the other tool to make it a sibling.';

-- What must run before what must run first: no more steps than an answer follows, and one. Only the surest resolver of a
-- need is followed: all of them make millions of chains where tools need one another.
CREATE VIEW prerequisite_chains AS
WITH RECURSIVE surest AS (
    SELECT * FROM prerequisites
    QUALIFY row_number() OVER (PARTITION BY tool_id, parameter ORDER BY confidence DESC, resolver) = 1
),
chains AS (
    SELECT tool_id, 1 AS steps, tool_id || ' → ' || parameter || ' → ' || resolver AS chain, confidence,
        [tool_id, resolver] AS tool_ids
    FROM surest
    UNION ALL
    SELECT chains.tool_id, steps + 1, chain || ' → ' || further.parameter || ' → ' || further.resolver,
        chains.confidence * further.confidence, list_append(tool_ids, further.resolver)
    FROM chains JOIN surest further ON further.tool_id = tool_ids[-1]
    WHERE steps < 3 AND NOT list_contains(tool_ids, further.resolver)
)
SELECT tool_id, steps, chain, round(confidence, 3) AS confidence, tool_ids
FROM chains
ORDER BY steps DESC, confidence DESC, chain;
COMMENT ON VIEW prerequisite_chains IS 'Which tools must run one after the other, longest chains first: what a tool needs, who resolves it most surely, and what that one needs in turn, up to three steps. No chain comes back to a tool that it has.';
COMMENT ON COLUMN prerequisite_chains.tool_id IS 'The tool that the chain begins with, which runs last.';
COMMENT ON COLUMN prerequisite_chains.steps IS 'How many tools must run before it.';
COMMENT ON COLUMN prerequisite_chains.chain IS 'The tool, the parameter that it needs, the resolver, the parameter that this one needs, and so on.';
COMMENT ON COLUMN prerequisite_chains.confidence IS 'The product of the confidences of its edges.';
COMMENT ON COLUMN prerequisite_chains.tool_ids IS 'The tools of the chain, the last to run first.';

-- Views of money: what is in use, what each build spent, what each provider took.

CREATE VIEW costs AS
SELECT provider, generator, model, count(*) AS tools, sum(prompt_tokens)::BIGINT AS prompt_tokens,
    sum(cached_tokens)::BIGINT AS cached_tokens, sum(completion_tokens)::BIGINT AS completion_tokens,
    sum(cost_usd) AS cost_usd, count(*) - count(cost_usd) AS unpriced
FROM expansions JOIN tools USING (tool_id)
GROUP BY provider, generator, model
ORDER BY cost_usd DESC NULLS LAST, provider, generator, model;
COMMENT ON VIEW costs IS 'What the answers in use have cost, by provider, generator and model, dearest first. What builds cost, failures and replaced answers too, is in nights.';
COMMENT ON COLUMN costs.provider IS 'The provider of the tools; NULL for tools without one.';
COMMENT ON COLUMN costs.generator IS 'Who wrote the answers.';
COMMENT ON COLUMN costs.model IS 'The model, or the file''s name.';
COMMENT ON COLUMN costs.tools IS 'How many tools have such an answer.';
COMMENT ON COLUMN costs.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN costs.cached_tokens IS 'Tokens sent that the server had in its cache.';
COMMENT ON COLUMN costs.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN costs.cost_usd IS 'US dollars of the answers whose price is known; NULL where none is.';
COMMENT ON COLUMN costs.unpriced IS 'How many answers have no known price.';

COMMENT ON VIEW nights IS 'What each build of this catalog asked each model and paid, newest build first; one row where it asked none. quartermaster status shows the same of the ledger, up to last night.';
COMMENT ON COLUMN nights.run_id IS 'The build, as in builds.';
COMMENT ON COLUMN nights.area IS 'snapshots for builds that serve, evaluations for those that were only measured.';
COMMENT ON COLUMN nights.started_at IS 'When it began, UTC.';
COMMENT ON COLUMN nights.finished_at IS 'When it ended, UTC; NULL as in builds.';
COMMENT ON COLUMN nights.outcome IS 'published, unchanged, held, failed or killed.';
COMMENT ON COLUMN nights.message IS 'Why it failed, or was held back.';
COMMENT ON COLUMN nights.degraded IS 'What it went without.';
COMMENT ON COLUMN nights.reused IS 'How many answers of any generator the ledger already had, in the whole build; NULL where that is unknown.';
COMMENT ON COLUMN nights.refused IS 'How many tools have an answer of which no phrase passed the checks, in the whole build; NULL where that is unknown.';
COMMENT ON COLUMN nights.generator IS 'Who was asked; NULL where no model was. Files cost nothing and are left out.';
COMMENT ON COLUMN nights.model IS 'The model.';
COMMENT ON COLUMN nights.asked IS 'How many questions the model was asked.';
COMMENT ON COLUMN nights.failed IS 'How many of them brought no usable answer.';
COMMENT ON COLUMN nights.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN nights.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN nights.cost_usd IS 'US dollars for the answers and failures that the build stored; NULL where a price is unknown.';

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
