-- What the tables and their columns are. The first sentence of a table's comment must stand alone: it is what a list shows.

COMMENT ON TABLE snapshot IS 'This snapshot, in one row. Times are UTC.';
COMMENT ON COLUMN snapshot.snapshot IS 'Its name, which is also its folder''s.';
COMMENT ON COLUMN snapshot.sequence IS 'Its number: the larger, the later, whatever the clock said. 0 where no store gave one.';
COMMENT ON COLUMN snapshot.catalog IS 'The name of the catalog.';
COMMENT ON COLUMN snapshot.built_at IS 'When it was written.';
COMMENT ON COLUMN snapshot.run_id IS 'The build that wrote it, as in builds.';
COMMENT ON COLUMN snapshot.encoder IS 'The model of the vectors; NULL where there are none.';
COMMENT ON COLUMN snapshot.recipe IS 'The recipe of requests that name none.';
COMMENT ON COLUMN snapshot.format IS 'The version of the snapshot''s files.';
COMMENT ON COLUMN snapshot.held IS 'Why a gate held it back; empty where it may serve.';
COMMENT ON COLUMN snapshot.previous IS 'The snapshot that served when this was written, and that changes compares with; NULL where there was none, or it could not be opened.';

COMMENT ON TABLE tools IS 'The tools, in the order of their ordinals, with the four texts that each is found by.';
COMMENT ON COLUMN tools.ordinal IS 'The tool''s number in this snapshot, in the indexes and in the vectors.';
COMMENT ON COLUMN tools.tool_id IS 'The tool''s id: its provider, a slash, its name.';
COMMENT ON COLUMN tools.provider IS 'Who offers it; NULL where no provider is known.';
COMMENT ON COLUMN tools.name IS 'The name that a model calls it by.';
COMMENT ON COLUMN tools.description IS 'The vendor''s description, maybe empty.';
COMMENT ON COLUMN tools.input_schema IS 'The JSON Schema that a model is given.';
COMMENT ON COLUMN tools.examples IS 'Requests that the vendor gives as examples.';
COMMENT ON COLUMN tools.categories IS 'The vendor''s categories.';
COMMENT ON COLUMN tools.tags IS 'The categories, then the hints of MCP that are set.';
COMMENT ON COLUMN tools.annotations IS 'The vendor''s hints: shown, never trusted.';
COMMENT ON COLUMN tools.deprecated IS 'Whether the vendor calls it deprecated.';
COMMENT ON COLUMN tools.outputs IS 'What a call answers, as far as the vendor declares it: a list of rows with path, type and, where given, description, enum, required. NULL where nothing is declared.';
COMMENT ON COLUMN tools.kind IS 'What it is: tool, skill or prompt.';
COMMENT ON COLUMN tools.instructions IS 'Of a skill, what a model reads once it has chosen it; NULL for a tool.';
COMMENT ON COLUMN tools.operation IS 'How its API is called, as its OpenAPI document says: method, path, servers, where each argument goes. What is as by default is left out. NULL for other tools.';
COMMENT ON COLUMN tools.links IS 'Which parameters of other tools the answer fills, as OpenAPI links say: a list of rows with parameter, tool, expression. NULL where there are none.';
COMMENT ON COLUMN tools.unread IS 'Whether its description is in another language than English, which English requests share no words with.';
COMMENT ON COLUMN tools.origin_file IS 'The file that it was read from.';
COMMENT ON COLUMN tools.origin_pointer IS 'The place in that file, as a JSON pointer or a line.';
COMMENT ON COLUMN tools.record_hash IS 'The hash of what the tool is, wherever it came from and whatever it is called here.';
COMMENT ON COLUMN tools.name_document IS 'The text that the signal name reads.';
COMMENT ON COLUMN tools.description_document IS 'The text that the signal description reads.';
COMMENT ON COLUMN tools.expansion_document IS 'The text that the signal expansion reads.';
COMMENT ON COLUMN tools.dense_document IS 'The text that the tool''s vector was made from.';

COMMENT ON TABLE parameters IS 'The parameters of each tool: its input schema as rows.';
COMMENT ON COLUMN parameters.tool_id IS 'The tool.';
COMMENT ON COLUMN parameters.path IS 'Dotted, with [] for the items of an array.';
COMMENT ON COLUMN parameters.type IS 'Its JSON type; empty where none is declared.';
COMMENT ON COLUMN parameters.description IS 'The vendor''s description, maybe empty.';
COMMENT ON COLUMN parameters.enum IS 'The values that it may take; empty where any will do.';
COMMENT ON COLUMN parameters.required IS 'Whether a call must give it.';

COMMENT ON TABLE expansions IS 'How people ask for each tool, as a generator wrote it, and what that cost, whichever build paid for it. A tool without a row has no expansion.';
COMMENT ON COLUMN expansions.tool_id IS 'The tool.';
COMMENT ON COLUMN expansions.generator IS 'Who wrote it: file, openai or lexicon.';
COMMENT ON COLUMN expansions.model IS 'The model, the file''s name, or the lexicon''s version.';
COMMENT ON COLUMN expansions.stale IS 'Why it is an earlier expansion: written for an older record or another prompt, by another model, with other parameters or beside other siblings. It serves until a better one is there; NULL where it is the answer to the question of today.';
COMMENT ON COLUMN expansions.prompt_version IS 'The version of the prompt that was asked.';
COMMENT ON COLUMN expansions.expansion_key IS 'The key of the answer: the hash of what the model was shown, or of the record for a file and the lexicon. The ledger has the answer under it: see phrase_sources.';
COMMENT ON COLUMN expansions.when_to_use IS 'The situation in which somebody needs the tool, in one sentence.';
COMMENT ON COLUMN expansions.user_phrases IS 'Requests as people would type them, those that passed the checks.';
COMMENT ON COLUMN expansions.synonyms IS 'Other words for the action and the thing it acts on.';
COMMENT ON COLUMN expansions.related_concepts IS 'Notions of its domain that people may mention.';
COMMENT ON COLUMN expansions.task_categories IS 'Short names for the kind of task.';
COMMENT ON COLUMN expansions.requires IS 'What a call must have and a person would not say, such as an id. No search reads it.';
COMMENT ON COLUMN expansions.provides IS 'What the tool finds by words, such as an id by a name. No search reads it.';
COMMENT ON COLUMN expansions.translations IS 'Phrases by language, as they were written; those in the catalog''s languages are in phrases.';
COMMENT ON COLUMN expansions.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN expansions.cached_tokens IS 'Tokens sent that the server had in its cache.';
COMMENT ON COLUMN expansions.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN expansions.cost_usd IS 'US dollars; NULL where the price is unknown, 0 where it was free.';
COMMENT ON COLUMN expansions.written_at IS 'When the answer was stored, UTC.';
COMMENT ON COLUMN expansions.run_id IS 'The build that paid for it, perhaps of another catalog of the workspace.';

COMMENT ON TABLE phrases IS 'The phrases of each tool: English ones in the order of their vectors, when to use it last, then other languages.';
COMMENT ON COLUMN phrases.tool_id IS 'The tool.';
COMMENT ON COLUMN phrases.position IS 'The number of the phrase within its tool, from 0; vectors has the English ones by it.';
COMMENT ON COLUMN phrases.phrase IS 'The phrase.';
COMMENT ON COLUMN phrases.language IS 'The ISO 639-1 code of its language, in which it is indexed.';

COMMENT ON TABLE verdicts IS 'What the checks found in the texts written for the tools: each text that was left out or noted, and why. A text without a row was kept.';
COMMENT ON COLUMN verdicts.tool_id IS 'The tool.';
COMMENT ON COLUMN verdicts.field IS 'The part of the expansion that the text comes from, or description.';
COMMENT ON COLUMN verdicts.text IS 'The text.';
COMMENT ON COLUMN verdicts.check_name IS 'The check that found something.';
COMMENT ON COLUMN verdicts.consequence IS 'dropped: not indexed; noted: indexed all the same.';
COMMENT ON COLUMN verdicts.detail IS 'What the check found: the other tool, the URL, the rank.';

COMMENT ON TABLE siblings IS 'Tools whose phrases fit another tool as well or better, with that other tool, most collisions first.';
COMMENT ON COLUMN siblings.tool_id IS 'The tool.';
COMMENT ON COLUMN siblings.sibling_id IS 'The other tool, at most three for each tool.';
COMMENT ON COLUMN siblings.rank IS '1 for the tool that most of its phrases fit.';

COMMENT ON TABLE prerequisites IS 'What tools need and people do not say, with the tools that find it, the surest first. One row for each tool, parameter and resolver; prerequisite_chains follows them. Empty where no tool resolves what another needs, or the recipe leaves prerequisites out.';
COMMENT ON COLUMN prerequisites.tool_id IS 'The tool that needs another to run first.';
COMMENT ON COLUMN prerequisites.parameter IS 'The parameter that it needs a value for, as in parameters.';
COMMENT ON COLUMN prerequisites.kind IS 'identifier, coordinates or session.';
COMMENT ON COLUMN prerequisites.noun IS 'What the value identifies, in words; empty where nothing says.';
COMMENT ON COLUMN prerequisites.resolver IS 'The tool that finds the value.';
COMMENT ON COLUMN prerequisites.confidence IS 'How sure that is, from 0 to 1.';
COMMENT ON COLUMN prerequisites.evidence IS 'What shows it: link, mention, output, name or model, the strongest first.';
COMMENT ON COLUMN prerequisites.because IS 'The same in words.';
COMMENT ON COLUMN prerequisites.of_own IS 'Whether the resolver finds only what is the caller''s own, as a list of my albums does.';

COMMENT ON TABLE rejections IS 'The records, and the lines of expansions, that could not be used, with the place and the reason.';
COMMENT ON COLUMN rejections.file IS 'The file.';
COMMENT ON COLUMN rejections.pointer IS 'The place in it, as a JSON pointer or a line.';
COMMENT ON COLUMN rejections.reason IS 'Why it could not be used.';

COMMENT ON TABLE notices IS 'What an operator should know about tools that were kept: merged, renamed, thin, open.';
COMMENT ON COLUMN notices.tool_id IS 'The tool.';
COMMENT ON COLUMN notices.kind IS 'merged, renamed, thin or open.';
COMMENT ON COLUMN notices.message IS 'What was noticed.';
COMMENT ON COLUMN notices.file IS 'The file that the tool was read from.';
COMMENT ON COLUMN notices.pointer IS 'The place in it, as a JSON pointer or a line.';

COMMENT ON TABLE coverage IS 'What was read of each source, and what was not. Counts are of records, and of the tools that they became.';
COMMENT ON COLUMN coverage.source IS 'The source as catalog.toml names it: its path, program or address.';
COMMENT ON COLUMN coverage.records IS 'All that it holds, the rejected too.';
COMMENT ON COLUMN coverage.tools IS 'The tools that they became.';
COMMENT ON COLUMN coverage.described IS 'Tools with a description.';
COMMENT ON COLUMN coverage.with_parameters IS 'Tools with a parameter or more.';
COMMENT ON COLUMN coverage.lost_parameters IS 'Tools that declare parameters in a shape that no reader knows.';
COMMENT ON COLUMN coverage.rejected IS 'Records that could not be used.';
COMMENT ON COLUMN coverage.reasons IS 'Why records were rejected, and how many for each reason; each is in rejections.';
COMMENT ON COLUMN coverage.shapes IS 'Where the parameters stood and in which shape, and in how many tools.';
COMMENT ON COLUMN coverage.problems IS 'What to look at, in sentences.';

COMMENT ON TABLE unread_keys IS 'Keys of records that no reader knows and that look as if they mattered: they are on many records, or called like a field. [source.fields] in catalog.toml maps them.';
COMMENT ON COLUMN unread_keys.source IS 'The source, as in coverage.';
COMMENT ON COLUMN unread_keys.key IS 'The key.';
COMMENT ON COLUMN unread_keys.records IS 'How many of the source''s records have it.';
COMMENT ON COLUMN unread_keys.example IS 'What it says on the first of them, shortened.';

COMMENT ON TABLE failures IS 'Tools that a generator failed on: all failures of this build, and the last one of an earlier build where no answer has replaced it since. Such a tool has the lexicon''s words or none.';
COMMENT ON COLUMN failures.tool_id IS 'The tool.';
COMMENT ON COLUMN failures.generator IS 'Who was asked: file or openai.';
COMMENT ON COLUMN failures.model IS 'The model, or the file''s name.';
COMMENT ON COLUMN failures.kind IS 'shape, empty, mismatch, refusal, truncated, refused, rate, quota, timeout, connection or server.';
COMMENT ON COLUMN failures.message IS 'What went wrong.';
COMMENT ON COLUMN failures.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN failures.cached_tokens IS 'Tokens sent that the server had in its cache.';
COMMENT ON COLUMN failures.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN failures.cost_usd IS 'US dollars; NULL where the price is unknown. A failure may have been paid for.';
COMMENT ON COLUMN failures.run_id IS 'The build in which it failed.';
COMMENT ON COLUMN failures.failed_at IS 'When it failed, UTC.';
COMMENT ON COLUMN failures.words_by IS 'The generator whose words are used instead; NULL where there are none.';

COMMENT ON TABLE builds IS 'Every build of this catalog, up to the one that wrote this. That one was still running: its finished_at is NULL and its outcome ''running'', but its figures and its cost are complete. A build that was killed has the outcome ''killed'' once the next build has closed it. Times are UTC.';
COMMENT ON COLUMN builds.run_id IS 'The number of the build in its workspace.';
COMMENT ON COLUMN builds.area IS '''snapshots'' for builds that serve, ''evaluations'' for builds that were only measured; NULL where the build is older than this column.';
COMMENT ON COLUMN builds.started_at IS 'When it began.';
COMMENT ON COLUMN builds.finished_at IS 'When it ended; NULL while it runs, or where it was killed.';
COMMENT ON COLUMN builds.outcome IS 'published, unchanged, held, failed or running.';
COMMENT ON COLUMN builds.snapshot IS 'The snapshot that it ended with; NULL where it has none.';
COMMENT ON COLUMN builds.message IS 'Why it failed, or was held back.';
COMMENT ON COLUMN builds.tools IS 'How many tools the catalog had; NULL where it ended before it knew.';
COMMENT ON COLUMN builds.asked IS 'How many questions each generator was asked; NULL where it ended before it knew.';
COMMENT ON COLUMN builds.embedded IS 'How many texts were embedded anew; NULL where it ended before it knew.';
COMMENT ON COLUMN builds.cost_usd IS 'US dollars for all answers and failures that it paid for; NULL where a price is unknown.';
COMMENT ON COLUMN builds.estimated_usd IS 'US dollars, as estimated before the first question.';

COMMENT ON TABLE spending IS 'What each build of this catalog was answered and paid, by provider, generator and model; the view costs_by_build shows it with dates.';
COMMENT ON COLUMN spending.run_id IS 'The build, as in builds.';
COMMENT ON COLUMN spending.provider IS 'The provider of the tools; NULL for tools without one.';
COMMENT ON COLUMN spending.generator IS 'Who was asked: file, openai or lexicon.';
COMMENT ON COLUMN spending.model IS 'The model, the file''s name, or the lexicon''s version.';
COMMENT ON COLUMN spending.answers IS 'How many questions were answered.';
COMMENT ON COLUMN spending.failures IS 'How many brought no usable answer.';
COMMENT ON COLUMN spending.prompt_tokens IS 'Tokens sent, the cached among them.';
COMMENT ON COLUMN spending.cached_tokens IS 'Tokens sent that the server had in its cache.';
COMMENT ON COLUMN spending.completion_tokens IS 'Tokens answered.';
COMMENT ON COLUMN spending.cost_usd IS 'US dollars of those whose price is known; NULL where none is.';
COMMENT ON COLUMN spending.unpriced IS 'How many have no known price.';

COMMENT ON TABLE history IS 'What happened to each tool, oldest first: first seen, changed, expansion written, expansion failed. The ledger keeps each record once, so a tool that returned to an earlier text has no line for that.';
COMMENT ON COLUMN history.tool_id IS 'The tool.';
COMMENT ON COLUMN history.happened_at IS 'When it happened, UTC.';
COMMENT ON COLUMN history.run_id IS 'The build in which it happened; for an expansion, perhaps of another catalog of the workspace.';
COMMENT ON COLUMN history.event IS 'first seen, changed, expansion written or expansion failed.';
COMMENT ON COLUMN history.detail IS 'What changed, or who wrote it, the tokens and the cost, or why it failed.';

COMMENT ON TABLE changes IS 'What differs from the snapshot that served when this one was written: see snapshot.previous. Empty where there was none.';
COMMENT ON COLUMN changes.tool_id IS 'The tool.';
COMMENT ON COLUMN changes.change IS 'added, removed or changed.';
COMMENT ON COLUMN changes.what IS 'The parts of a changed tool that differ: name, provider, description, schema, examples, categories, annotations, deprecated, outputs, links, operation, kind, instructions, expansion.';
COMMENT ON COLUMN changes.added_phrases IS 'Phrases that are indexed for the tool now and were not before, in their order.';
COMMENT ON COLUMN changes.removed_phrases IS 'Phrases that were indexed for the tool before and are not now, in their order.';

COMMENT ON TABLE judged_metrics IS 'How well each snapshot answered the catalog''s judged requests, one row for each metric, oldest snapshot first. Snapshots that were not measured have no row; those that the store has removed since keep theirs.';
COMMENT ON COLUMN judged_metrics.snapshot IS 'The snapshot.';
COMMENT ON COLUMN judged_metrics.sequence IS 'Its number in the store, which the order follows; 0 or NULL in snapshots of versions that gave none.';
COMMENT ON COLUMN judged_metrics.built_at IS 'When it was written, UTC.';
COMMENT ON COLUMN judged_metrics.held IS 'Whether a gate held it back.';
COMMENT ON COLUMN judged_metrics.recipe IS 'The recipe that it was measured with.';
COMMENT ON COLUMN judged_metrics.requests IS 'How many judged requests were asked. Compare figures only where it is the same.';
COMMENT ON COLUMN judged_metrics.metric IS 'The metric''s JSON key: recall@10 is Success@10, full@10 is Full Recall@10.';
COMMENT ON COLUMN judged_metrics.value IS 'The mean over the requests.';
COMMENT ON COLUMN judged_metrics.low IS 'The lower end of its 95 % interval.';
COMMENT ON COLUMN judged_metrics.high IS 'The upper end of its 95 % interval.';

COMMENT ON TABLE quarantine IS 'Tools that the build held back alone, because they would take other tools'' requests. quartermaster quarantine releases them.';
COMMENT ON COLUMN quarantine.tool_id IS 'The tool.';
COMMENT ON COLUMN quarantine.kind IS 'new: it is left out; changed: it serves as it was before its change.';
COMMENT ON COLUMN quarantine.since IS 'When it was first held back.';
COMMENT ON COLUMN quarantine.requests IS 'How many requests of other providers'' tools it would enter the first five of.';
COMMENT ON COLUMN quarantine.probes IS 'How many requests it was tried on.';
COMMENT ON COLUMN quarantine.distance IS 'How far these requests are from its name and first sentence, in the mean: 0 is nearest, 0.5 is by chance.';
COMMENT ON COLUMN quarantine.examples IS 'A few of these requests, the farthest first.';
