-- The tables whose columns every snapshot shares; each line's comment becomes that of the table or the column. The first
-- sentence of a table's comment is what a list shows. `vectors` is as wide as the encoder, and is made
-- with its rows. accounts.sql fills expansions, failures, builds, spending and history from the ledger.

CREATE TABLE snapshot ( -- This snapshot, in one row. Times are UTC.
    snapshot VARCHAR, -- Its name, which is also its folder's.
    sequence BIGINT, -- Its number: the larger, the later, whatever the clock said. 0 where no store gave one.
    catalog VARCHAR, -- The name of the catalog.
    built_at TIMESTAMP, -- When it was written.
    run_id BIGINT, -- The build that wrote it, as in builds.
    encoder VARCHAR, -- The model of the vectors; NULL where there are none.
    recipe VARCHAR, -- The recipe of requests that name none.
    format INTEGER, -- The version of the snapshot's files.
    held VARCHAR[], -- Why a gate held it back; empty where it may serve.
    previous VARCHAR -- The snapshot that served when this was written, and that changes compares with; NULL where there was none, or it could not be opened.
);

CREATE TABLE tools ( -- The tools, in the order of their ordinals, with the four texts that each is found by.
    ordinal BIGINT, -- The tool's number in this snapshot, in the indexes and in the vectors.
    tool_id VARCHAR, -- The tool's id: its provider, a slash, its name.
    provider VARCHAR, -- Who offers it; NULL where no provider is known.
    name VARCHAR, -- The name that a model calls it by.
    description VARCHAR, -- The vendor's description, maybe empty.
    input_schema JSON, -- The JSON Schema that a model is given.
    examples VARCHAR[], -- Requests that the vendor gives as examples.
    categories VARCHAR[], -- The vendor's categories.
    tags VARCHAR[], -- The categories, then the hints of MCP that are set.
    annotations JSON, -- The vendor's hints: shown, never trusted.
    deprecated BOOLEAN, -- Whether the vendor calls it deprecated.
    outputs JSON, -- What a call answers, as far as the vendor declares it: a list of rows with path, type and, where given, description, enum, required. NULL where nothing is declared.
    links JSON, -- Which parameters of other tools the answer fills, as OpenAPI links say: a list of rows with parameter, tool, expression. NULL where there are none.
    operation JSON, -- How its API is called, as its OpenAPI document says: method, path, servers, where each argument goes. What is as by default is left out. NULL for other tools.
    kind VARCHAR, -- What it is: tool, skill or prompt.
    instructions VARCHAR, -- Of a skill, what a model reads once it has chosen it; NULL for a tool.
    unread BOOLEAN, -- Whether its description is in another language than English, which English requests share no words with.
    origin_file VARCHAR, -- The file that it was read from.
    origin_pointer VARCHAR, -- The place in that file, as a JSON pointer or a line.
    record_hash VARCHAR, -- The hash of what the tool is, wherever it came from and whatever it is called here.
    name_document VARCHAR, -- The text that the signal name reads.
    description_document VARCHAR, -- The text that the signal description reads.
    expansion_document VARCHAR, -- The text that the signal expansion reads.
    dense_document VARCHAR -- The text that the tool's vector was made from.
);

CREATE TABLE parameters ( -- The parameters of each tool: its input schema as rows.
    tool_id VARCHAR, -- The tool.
    path VARCHAR, -- Dotted, with [] for the items of an array.
    type VARCHAR, -- Its JSON type; empty where none is declared.
    description VARCHAR, -- The vendor's description, maybe empty.
    enum VARCHAR[], -- The values that it may take; empty where any will do.
    required BOOLEAN -- Whether a call must give it.
);

CREATE TABLE phrases ( -- The phrases of each tool: its own in the order of their vectors, when to use it last, then translations.
    tool_id VARCHAR, -- The tool.
    position INTEGER, -- The number of the phrase within its tool, from 0; vectors has the English ones by it.
    phrase VARCHAR, -- The phrase.
    language VARCHAR, -- The ISO 639-1 code of its language, in which it is indexed; und: indexed as English, and not English.
    source VARCHAR -- Who wrote it: a generator, as in expansions; or person: it stands in phrases.jsonl.
);

CREATE TABLE verdicts ( -- What the checks found in the texts written for the tools: each text that was left out or noted, and why; most are noted, and left_out has the others. A text without a row was kept.
    tool_id VARCHAR, -- The tool.
    field VARCHAR, -- The part of the expansion that the text comes from, or description.
    text VARCHAR, -- The text.
    check_name VARCHAR, -- The check that found something.
    consequence VARCHAR, -- dropped: not indexed; noted: indexed all the same.
    detail VARCHAR -- What the check found: the other tool, the URL, the rank.
);

CREATE TABLE siblings ( -- Tools whose phrases fit another tool as well or better, with that other tool, most collisions first.
    tool_id VARCHAR, -- The tool.
    sibling_id VARCHAR, -- The other tool, at most three for each tool.
    rank INTEGER -- 1 for the tool that most of its phrases fit.
);

CREATE TABLE prerequisites ( -- What tools need and people do not say, with the tools that find it, the surest first. One row for each tool, parameter and resolver; prerequisite_chains follows them. Empty where no tool resolves what another needs, or the recipe leaves prerequisites out.
    tool_id VARCHAR, -- The tool that needs another to run first.
    parameter VARCHAR, -- The parameter that it needs a value for, as in parameters.
    kind VARCHAR, -- identifier, coordinates or session.
    noun VARCHAR, -- What the value identifies, in words; empty where nothing says.
    resolver VARCHAR, -- The tool that finds the value.
    confidence DOUBLE, -- How sure that is, from 0 to 1.
    evidence VARCHAR, -- What shows it: link, mention, output, name or model, the strongest first.
    because VARCHAR, -- The same in words.
    of_own BOOLEAN -- Whether the resolver finds only what is the caller's own, as a list of my albums does.
);

CREATE TABLE rejections ( -- The records, and the lines of expansions, that could not be used, with the place and the reason.
    file VARCHAR, -- The file.
    pointer VARCHAR, -- The place in it, as a JSON pointer or a line.
    reason VARCHAR -- Why it could not be used.
);

CREATE TABLE notices ( -- What an operator should know about tools that were kept: merged, renamed, thin, open.
    tool_id VARCHAR, -- The tool.
    kind VARCHAR, -- merged, renamed, thin or open.
    message VARCHAR, -- What was noticed.
    file VARCHAR, -- The file that the tool was read from.
    pointer VARCHAR -- The place in it, as a JSON pointer or a line.
);

CREATE TABLE coverage ( -- What was read of each source, and what was not. Counts are of records, and of the tools that they became.
    source VARCHAR, -- The source as catalog.toml names it: its path, program or address.
    records BIGINT, -- All that it holds, the rejected too.
    tools BIGINT, -- The tools that they became.
    described BIGINT, -- Tools with a description.
    with_parameters BIGINT, -- Tools with a parameter or more.
    lost_parameters BIGINT, -- Tools that declare parameters in a shape that no reader knows.
    rejected BIGINT, -- Records that could not be used.
    reasons MAP(VARCHAR, BIGINT), -- Why records were rejected, and how many for each reason; each is in rejections.
    shapes MAP(VARCHAR, BIGINT), -- Where the parameters stood and in which shape, and in how many tools.
    problems VARCHAR[] -- What to look at, in sentences.
);

CREATE TABLE unread_keys ( -- Keys of records that no reader knows and that look as if they mattered: they are on many records, or called like a field. [source.fields] in catalog.toml maps them.
    source VARCHAR, -- The source, as in coverage.
    key VARCHAR, -- The key.
    records BIGINT, -- How many of the source's records have it.
    example VARCHAR -- What it says on the first of them, shortened.
);

CREATE TABLE quarantine ( -- Tools that the build held back alone, because they would take other tools' requests. quartermaster quarantine releases them.
    tool_id VARCHAR, -- The tool.
    kind VARCHAR, -- new: it is left out; changed: it serves as it was before its change.
    since TIMESTAMP, -- When it was first held back.
    requests INTEGER, -- How many requests of other providers' tools it would enter the first five of.
    probes INTEGER, -- How many requests it was tried on.
    distance DOUBLE, -- How far these requests are from its name and first sentence, in the mean: 0 is nearest, 0.5 is by chance.
    examples VARCHAR[] -- A few of these requests, the farthest first.
);

CREATE TABLE judged_metrics ( -- How well each snapshot answered the catalog's judged requests, one row for each metric, oldest snapshot first. Snapshots that were not measured have no row; those that the store has removed since keep theirs.
    snapshot VARCHAR, -- The snapshot.
    sequence BIGINT, -- Its number in the store, which the order follows; 0 or NULL in snapshots of versions that gave none.
    built_at TIMESTAMP, -- When it was written, UTC.
    held BOOLEAN, -- Whether a gate held it back.
    recipe VARCHAR, -- The recipe that it was measured with.
    requests BIGINT, -- How many judged requests were asked. Compare figures only where it is the same.
    metric VARCHAR, -- The metric's JSON key: recall@10 is Success@10, full@10 is Full Recall@10.
    value DOUBLE, -- The mean over the requests.
    low DOUBLE, -- The lower end of its 95 % interval.
    high DOUBLE -- The upper end of its 95 % interval.
);

CREATE TABLE changes ( -- What differs from the snapshot that served when this one was written: see snapshot.previous. Empty where there was none.
    tool_id VARCHAR, -- The tool.
    change VARCHAR, -- added, removed or changed.
    what VARCHAR[], -- The parts of a changed tool that differ: name, provider, description, schema, examples, categories, annotations, deprecated, outputs, links, operation, kind, instructions, expansion.
    added_phrases VARCHAR[], -- Phrases that are indexed for the tool now and were not before, in their order.
    removed_phrases VARCHAR[] -- Phrases that were indexed for the tool before and are not now, in their order.
);

CREATE TABLE expansions ( -- How people ask for each tool, as a generator wrote it, and what that cost, whichever build paid for it. A tool without a row has no expansion.
    tool_id VARCHAR, -- The tool.
    generator VARCHAR, -- Who wrote it: file or openai; person where no generator did, as in phrases.
    model VARCHAR, -- The model, or the file's name.
    expansion_key VARCHAR, -- The key of the answer: the hash of what the model was shown, or of the record for a file. The ledger has the answer under it: see phrase_sources.
    stale VARCHAR, -- Why it is an earlier expansion: written for an older record or another prompt, by another model, with other parameters or beside other siblings. It serves until a better one is there; NULL where it is the answer to the question of today.
    when_to_use VARCHAR, -- The situation in which somebody needs the tool, in one sentence.
    user_phrases VARCHAR[], -- Requests as people would type them, those that passed the checks.
    synonyms VARCHAR[], -- Other words for the action and the thing it acts on.
    related_concepts VARCHAR[], -- Notions of its domain that people may mention.
    task_categories VARCHAR[], -- Short names for the kind of task.
    requires VARCHAR[], -- What a call must have and a person would not say, such as an id. No search reads it.
    provides VARCHAR[], -- What the tool finds by words, such as an id by a name. No search reads it.
    translations MAP(VARCHAR, VARCHAR[]), -- Phrases by language, as they were written; those in the catalog's languages are in phrases.
    prompt_version INTEGER, -- The version of the prompt that was asked.
    prompt_tokens BIGINT, -- Tokens sent, the cached among them.
    cached_tokens BIGINT, -- Tokens sent that the server had in its cache.
    completion_tokens BIGINT, -- Tokens answered.
    cost_usd DOUBLE, -- US dollars; NULL where the price is unknown, 0 where it was free.
    written_at TIMESTAMP, -- When the answer was stored, UTC.
    run_id BIGINT -- The build that paid for it, perhaps of another catalog of the workspace.
);

CREATE TABLE failures ( -- Tools that a generator failed on: all failures of this build, and the last one of an earlier build where no answer has replaced it since. Such a tool has no expansion.
    tool_id VARCHAR, -- The tool.
    generator VARCHAR, -- Who was asked: file or openai.
    model VARCHAR, -- The model, or the file's name.
    kind VARCHAR, -- shape, empty, mismatch, refusal, truncated, refused, rate, quota, timeout, connection or server.
    message VARCHAR, -- What went wrong.
    prompt_tokens BIGINT, -- Tokens sent, the cached among them.
    cached_tokens BIGINT, -- Tokens sent that the server had in its cache.
    completion_tokens BIGINT, -- Tokens answered.
    cost_usd DOUBLE, -- US dollars; NULL where the price is unknown. A failure may have been paid for.
    run_id BIGINT, -- The build in which it failed.
    failed_at TIMESTAMP, -- When it failed, UTC.
    words_by VARCHAR -- The generator whose words are used instead; NULL where there are none.
);

CREATE TABLE builds ( -- Every build of this catalog, up to the one that wrote this. That one's finished_at is NULL and its outcome is what its gates decided; its figures and its cost are complete. What came after, such as a pin that kept it from serving, quartermaster status knows. A build that was killed has the outcome 'killed' once the next build has closed it. Times are UTC.
    run_id BIGINT, -- The number of the build in its workspace.
    area VARCHAR, -- 'snapshots' for builds that serve, 'evaluations' for builds that were only measured; NULL where the build is older than this column.
    started_at TIMESTAMP, -- When it began.
    finished_at TIMESTAMP, -- When it ended; NULL while it runs, or where it was killed.
    outcome VARCHAR, -- published, unchanged, held, failed or killed.
    snapshot VARCHAR, -- The snapshot that it ended with; NULL where it has none.
    message VARCHAR, -- Why it failed, or was held back.
    tools BIGINT, -- How many tools the catalog had; NULL where it ended before it knew.
    asked MAP(VARCHAR, BIGINT), -- How many questions each generator was asked; NULL where it ended before it knew.
    reused BIGINT, -- How many answers the ledger already had; NULL where the build is older than this column.
    refused BIGINT, -- How many tools have an answer of which no phrase passed the checks; NULL as in reused.
    embedded BIGINT, -- How many texts were embedded anew; NULL where it ended before it knew.
    cost_usd DOUBLE, -- US dollars for the answers and failures that it stored; NULL where a price is unknown.
    estimated_usd DOUBLE, -- US dollars, as estimated before the first question.
    degraded VARCHAR[] -- What it went without; NULL where it failed, or is older than this column.
);

CREATE TABLE spending ( -- What each build of this catalog was answered and paid, by provider, generator and model; nights has the sums. A build that asked nobody has no row.
    run_id BIGINT, -- The build, as in builds.
    provider VARCHAR, -- The provider of the tools; NULL for tools without one.
    generator VARCHAR, -- Who was asked: file or openai.
    model VARCHAR, -- The model, or the file's name.
    answers BIGINT, -- How many questions were answered.
    failures BIGINT, -- How many brought no usable answer.
    prompt_tokens BIGINT, -- Tokens sent, the cached among them.
    cached_tokens BIGINT, -- Tokens sent that the server had in its cache.
    completion_tokens BIGINT, -- Tokens answered.
    cost_usd DOUBLE, -- US dollars of those whose price is known; NULL where none is.
    unpriced BIGINT -- How many have no known price.
);

CREATE TABLE history ( -- What happened to each tool, oldest first: first seen, changed, expansion written, expansion failed. The ledger keeps each record once, so a tool that returned to an earlier text has no line for that.
    tool_id VARCHAR, -- The tool.
    happened_at TIMESTAMP, -- When it happened, UTC.
    run_id BIGINT, -- The build in which it happened; for an expansion, perhaps of another catalog of the workspace.
    event VARCHAR, -- first seen, changed, expansion written or expansion failed.
    detail VARCHAR -- What changed, or who wrote it, the tokens and the cost, or why it failed.
);
