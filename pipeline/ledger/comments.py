"""The comments on the ledger's tables, views and columns: their documentation, in the file itself."""

_RUN = "The run, as in runs."
_TOOL = "The tool's id in its catalog."
_KEY = (
    "The hash of all that the answer depends on: the generator, its model and what it was shown. Those of a file, of "
    "the lexicon and of earlier versions hold the record's hash instead."
)
_RECORD = "The hash of the record that the answer is about, as in records."
_WRITER = {
    "generator": "Who was asked: file, openai or lexicon.",
    "model": "The model, the file's name, or the lexicon's version.",
}
_USAGE = {
    "prompt_tokens": "Tokens sent, the cached among them.",
    "cached_tokens": "Tokens sent that the server had in its cache.",
    "completion_tokens": "Tokens answered.",
    "cost_usd": "US dollars; NULL where the price is unknown, 0 where it was free.",
    "run_id": "The run that paid for it, as in runs.",
    "created_at": "When it was stored, UTC.",
}
_COMPLETION = (
    "The text that the model wrote, unread; one text for all tools of a request that asks about several. "
    "NULL where no model wrote, and for rows of versions that did not keep it."
)
_QUARANTINE = {
    "catalog": "The catalog.",
    "area": "The folder of the snapshots, as in runs.",
    "tool_id": _TOOL,
    "content_hash": "The hash of the record and the texts that the row is about. Other content is tried anew.",
    "kind": "new: it is left out; changed: it serves as it was.",
    "state": "held or released.",
    "since": "When it was first held back, UTC.",
    "run_id": "The run that held it back first, as in runs.",
    "requests": "How many requests of other providers' tools it would enter the first five of.",
    "probes": "How many requests it was tried on.",
    "distance": "The mean share of the probes that are nearer to its name and first sentence than these.",
    "examples": "A few of these requests, each with the tools that serve it: a JSON list.",
    "told": "Whether a build has told of it.",
    "decided_at": "When it was released, UTC; NULL where it was not.",
}

# By table or view: its comment, and those on its columns.
COMMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "migrations": (
        "The changes of the tables that this file has had; the greatest number is its version.",
        {
            "number": "The number of the migration, in order.",
            "sentence": "What it changed.",
            "applied_at": "When it was run, UTC.",
        },
    ),
    "runs": (
        "Every build, of every catalog of the workspace. Times are UTC.",
        {
            "run_id": "The number of the run.",
            "catalog": "The name of the catalog that was built.",
            "started_at": "When it began.",
            "finished_at": "When it ended; NULL while it runs, or where it was killed.",
            "outcome": "published, unchanged, held, failed, running, or killed: it ended without a word.",
            "snapshot": "The snapshot that it ended with; NULL where it failed.",
            "message": "Why it failed, or was held back.",
            "counts": "The figures of its report; stored before the snapshot is written, and again at the end.",
            "area": "snapshots for builds that serve, evaluations for measured ones; NULL before this column existed.",
        },
    ),
    "records": (
        "Each version of each record, stored once.",
        {
            "record_hash": "The hash of what the tool is, wherever it came from and whatever it is called.",
            "tool_id": _TOOL,
            "catalog": "The name of the catalog that has it.",
            "record": "The record as canonical JSON.",
            "first_run": "The run that first read it.",
        },
    ),
    "rejections": (
        "What each run read and could not use.",
        {
            "run_id": _RUN,
            "file": "The file.",
            "pointer": "The place in the file, as a JSON pointer or a line.",
            "reason": "Why it could not be used.",
        },
    ),
    "notices": (
        "What an operator should know about tools that each run kept.",
        {
            "run_id": _RUN,
            "tool_id": _TOOL,
            "kind": "merged, renamed, thin or open.",
            "message": "What was noticed.",
            "file": "The file that the tool was read from.",
            "pointer": "The place in the file, as a JSON pointer or a line.",
        },
    ),
    "expansions": (
        "Every answer that a generator gave. Later builds reuse the first answer of a key; no answer is ever deleted.",
        {
            "expansion_key": _KEY,
            "record_hash": _RECORD,
            "tool_id": _TOOL,
            **_WRITER,
            "prompt_version": "The version of the prompt.",
            "expansion": "The answer as it was read: tidied and cut to its limits, before any check.",
            **_USAGE,
            "completion": _COMPLETION,
        },
    ),
    "failures": (
        "Every question that was asked and brought no usable answer. The next build asks again.",
        {
            "expansion_key": _KEY,
            "record_hash": _RECORD,
            "tool_id": _TOOL,
            **_WRITER,
            "kind": "shape, empty, mismatch, refusal, truncated, refused, rate, quota, timeout, connection or server.",
            "message": "What went wrong.",
            **_USAGE,
            "completion": _COMPLETION,
        },
    ),
    "questions": (
        "The message that asked a model about each tool. Stored as text, because it cannot be made again: the key is a "
        "hash, and the siblings that it shows stand nowhere else. Versions that did not keep it left no row.",
        {
            "expansion_key": _KEY,
            "instructions_hash": "The instructions before the message, as in instructions.",
            "message": "The user message about this tool. A request that asks about several tools lists them together.",
            "parameters": "The other settings that the answer depends on. Of those of no known name, the hash.",
            "run_id": "The run that first asked, or meant to.",
            "created_at": "When it was stored, UTC.",
        },
    ),
    "instructions": (
        "The system message before every question, stored once for each version of it.",
        {
            "instructions_hash": "The hash of the text.",
            "prompt_version": "The version of the prompt.",
            "instructions": "The text. A server without structured output is also told how to form the answer.",
            "run_id": "The run that first used it.",
        },
    ),
    "assessments": (
        "What checks against a whole catalog found, so that equal texts are assessed once.",
        {
            "assessment_key": "The hash of everything that was read: records, expansions, encoder, settings.",
            "run_id": _RUN,
            "created_at": "When it was stored, UTC.",
            "assessment": "The verdicts and the siblings.",
        },
    ),
    "batches": (
        "Batches submitted to a model's server. One that is not settled is collected by the next build.",
        {
            "token": "Our own mark, which travels with the batch.",
            "server": "The server's address, without credentials.",
            "model": "The model that is asked.",
            "rung": "The output mode of its requests: 0 structured output, 1 JSON mode, 2 plain text.",
            "prompt_version": "The version of the prompt.",
            "run_id": "The run that submitted it.",
            "created_at": "When it was stored, before it was submitted; UTC.",
            "file_id": "The server's id of the uploaded file; NULL before the upload.",
            "asked_at": "When the server was asked to create the batch, UTC.",
            "batch_id": "The server's id of the batch; NULL before it answered.",
            "outcome": "The last status at the server, lost or not sent; NULL while it is not settled.",
            "settled_at": "When its answers were stored, UTC.",
        },
    ),
    "batch_requests": (
        "The requests of each batch.",
        {
            "token": "The batch, as in batches.",
            "line": "The line of its file, from 1.",
            "key": "The key of the answer, as expansion_key elsewhere.",
            "record_hash": _RECORD,
            "tool_id": _TOOL,
            "name": "The tool's name as the answer must repeat it.",
        },
    ),
    "source_readings": (
        "The last good read of each source, which stands in while the source fails, and the last that was held back.",
        {
            "catalog": "The name of the catalog.",
            "area": "As in runs.",
            "source_key": "The hash of where and how the source is read.",
            "source": "The source's path, program or address, without secrets.",
            "read_at": "When it was read, UTC.",
            "run_id": "The run that read it, as in runs.",
            "content_hash": "What it gave, as in source_contents.",
            "snapshot": "The snapshot that was built from it.",
            "accepted": "Whether that snapshot served. A read that a gate held back does not stand in.",
        },
    ),
    "source_contents": (
        "What sources gave, stored once for equal content, and removed when no read names it.",
        {
            "content_hash": "The hash of the content.",
            "tool_ids": "The ids of the tools, as a JSON list.",
            "content": "The definitions and rejections as they were read: JSON, compressed by gzip.",
        },
    ),
    "quarantine": (
        "Tools that were held back alone, because they would take other tools' requests, and those that were released.",
        _QUARANTINE,
    ),
    "quarantined": (
        "The tools that are held back now: the rows of quarantine that nobody has released.",
        {name: text for name, text in _QUARANTINE.items() if name not in ("state", "told", "decided_at")},
    ),
    "phrases": (
        "Each user phrase of each stored answer, checks aside.",
        {"tool_id": _TOOL, **_WRITER, "phrase": "The phrase."},
    ),
    "answers": (
        "Every answer and failure with the question that was asked. The view phrase_sources of a snapshot has the "
        "key of each of its phrases.",
        {
            "expansion_key": _KEY,
            "tool_id": _TOOL,
            **_WRITER,
            "prompt_version": "The version of the prompt; NULL for a failure whose question was not kept.",
            "question": "The message about the tool; NULL where no model was asked, or it was not kept.",
            "instructions": "The system message before it.",
            "parameters": "The other settings that the answer depends on. Of those of no known name, the hash.",
            "completion": _COMPLETION,
            "expansion": "The answer as it was read, before any check; NULL for a failure.",
            "kind": "The kind of failure; NULL for an answer.",
            "failure": "What went wrong; NULL for an answer.",
            **{name: comment for name, comment in _USAGE.items() if name != "cached_tokens"},
        },
    ),
}
VECTORS: tuple[str, dict[str, str]] = (
    "Vectors of {dim} dimensions, so that an unchanged text is embedded once.",
    {
        "text_hash": "The hash of the text.",
        "model_key": "The encoder, its revision and its settings.",
        "vector": "The vector.",
    },
)
# Tables of a snapshot's catalog.duckdb that hold rows of the ledger.
SNAPSHOT_COMMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "ledger_answers": (
        "Answers and failures about these tools as the ledger has them. A lost ledger is restored from this table and "
        "the vectors, so that nothing is paid for again.",
        {**COMMENTS["failures"][1], **COMMENTS["expansions"][1], "kind": "The kind of failure; NULL for an answer."},
    ),
    "ledger_vectors": (
        "Vectors of the other texts that the build embedded, such as phrases that a check left out. A lost ledger is "
        "restored from them too; empty where the catalog was built without an encoder.",
        VECTORS[1],
    ),
}
