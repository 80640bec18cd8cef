-- The tables whose columns every snapshot shares. `vectors` is as wide as the encoder, and is made with its rows.

CREATE TABLE snapshot (
    snapshot VARCHAR, sequence BIGINT, catalog VARCHAR, built_at TIMESTAMP, run_id BIGINT, encoder VARCHAR,
    recipe VARCHAR, format INTEGER, held VARCHAR[], previous VARCHAR
);
CREATE TABLE tools (
    ordinal BIGINT, tool_id VARCHAR, provider VARCHAR, name VARCHAR, description VARCHAR, input_schema JSON,
    examples VARCHAR[], categories VARCHAR[], tags VARCHAR[], annotations JSON, deprecated BOOLEAN, outputs JSON,
    links JSON, operation JSON, kind VARCHAR, instructions VARCHAR, unread BOOLEAN, origin_file VARCHAR,
    origin_pointer VARCHAR, record_hash VARCHAR, name_document VARCHAR, description_document VARCHAR,
    expansion_document VARCHAR, dense_document VARCHAR
);
CREATE TABLE parameters (
    tool_id VARCHAR, path VARCHAR, type VARCHAR, description VARCHAR, enum VARCHAR[], required BOOLEAN
);
CREATE TABLE phrases (tool_id VARCHAR, position INTEGER, phrase VARCHAR, language VARCHAR);
CREATE TABLE verdicts (
    tool_id VARCHAR, field VARCHAR, text VARCHAR, check_name VARCHAR, consequence VARCHAR, detail VARCHAR
);
CREATE TABLE siblings (tool_id VARCHAR, sibling_id VARCHAR, rank INTEGER);
CREATE TABLE prerequisites (
    tool_id VARCHAR, parameter VARCHAR, kind VARCHAR, noun VARCHAR, resolver VARCHAR, confidence DOUBLE,
    evidence VARCHAR, because VARCHAR, of_own BOOLEAN
);
CREATE TABLE rejections (file VARCHAR, pointer VARCHAR, reason VARCHAR);
CREATE TABLE notices (tool_id VARCHAR, kind VARCHAR, message VARCHAR, file VARCHAR, pointer VARCHAR);
CREATE TABLE coverage (
    source VARCHAR, records BIGINT, tools BIGINT, described BIGINT, with_parameters BIGINT, lost_parameters BIGINT,
    rejected BIGINT, reasons MAP(VARCHAR, BIGINT), shapes MAP(VARCHAR, BIGINT), problems VARCHAR[]
);
CREATE TABLE unread_keys (source VARCHAR, key VARCHAR, records BIGINT, example VARCHAR);
CREATE TABLE quarantine (
    tool_id VARCHAR, kind VARCHAR, since TIMESTAMP, requests INTEGER, probes INTEGER, distance DOUBLE,
    examples VARCHAR[]
);
CREATE TABLE judged_metrics (
    snapshot VARCHAR, sequence BIGINT, built_at TIMESTAMP, held BOOLEAN, recipe VARCHAR, requests BIGINT,
    metric VARCHAR, value DOUBLE, low DOUBLE, high DOUBLE
);
CREATE TABLE changes (
    tool_id VARCHAR, change VARCHAR, what VARCHAR[], added_phrases VARCHAR[], removed_phrases VARCHAR[]
);

-- What the ledger knows, filled by accounts.sql.
CREATE TABLE expansions (
    tool_id VARCHAR, generator VARCHAR, model VARCHAR, expansion_key VARCHAR, stale VARCHAR, when_to_use VARCHAR,
    user_phrases VARCHAR[], synonyms VARCHAR[], related_concepts VARCHAR[], task_categories VARCHAR[],
    requires VARCHAR[], provides VARCHAR[], translations MAP(VARCHAR, VARCHAR[]), prompt_version INTEGER,
    prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT, cost_usd DOUBLE, written_at TIMESTAMP,
    run_id BIGINT
);
CREATE TABLE failures (
    tool_id VARCHAR, generator VARCHAR, model VARCHAR, kind VARCHAR, message VARCHAR, prompt_tokens BIGINT,
    cached_tokens BIGINT, completion_tokens BIGINT, cost_usd DOUBLE, run_id BIGINT, failed_at TIMESTAMP,
    words_by VARCHAR
);
CREATE TABLE builds (
    run_id BIGINT, area VARCHAR, started_at TIMESTAMP, finished_at TIMESTAMP, outcome VARCHAR, snapshot VARCHAR,
    message VARCHAR, tools BIGINT, asked MAP(VARCHAR, BIGINT), embedded BIGINT, cost_usd DOUBLE, estimated_usd DOUBLE
);
CREATE TABLE spending (
    run_id BIGINT, provider VARCHAR, generator VARCHAR, model VARCHAR, answers BIGINT, failures BIGINT,
    prompt_tokens BIGINT, cached_tokens BIGINT, completion_tokens BIGINT, cost_usd DOUBLE, unpriced BIGINT
);
CREATE TABLE history (tool_id VARCHAR, happened_at TIMESTAMP, run_id BIGINT, event VARCHAR, detail VARCHAR);
