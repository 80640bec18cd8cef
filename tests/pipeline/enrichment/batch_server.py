"""OpenAI's files and batches on loopback: real HTTP, real shapes, states by script. It keeps everything it is sent."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import SecretStr

from pipeline.settings import EnrichmentSettings
from tests.pipeline.enrichment.model_server import Loopback, Reply, Script, answer, error, tool_of

_ENDS = ("completed", "failed", "expired", "cancelled")
_CREATED = 1_760_000_000
Lines = list[dict[str, Any]]


@dataclass(frozen=True)
class Course:
    """The course of a batch: one step at each look, and the last one stays.

    An end before "completed" has `answered` requests done. `spoil` changes the lines of its results. `loses` hangs up
    once the batch is created.
    """

    steps: Sequence[str] = ("in_progress", "finalizing", "completed")
    answered: int | None = None
    spoil: Callable[[Lines], Lines] = lambda lines: lines[::-1]  # in no order that anybody may rely on
    loses: bool = False


@dataclass
class BatchServer(Loopback):
    """Serves POST and GET of /v1/files and /v1/batches.

    `script` answers a request, as of ModelServer; `courses` are of the batches in their order, and the default for the
    rest. `trouble` may answer instead, given the method, the path and how often they came before. `queue` is how many
    requests may be in batches that have not ended. `hangs` holds back the answer to a new batch until `released`.
    """

    script: Script = answer
    courses: Sequence[Course] = ()
    trouble: Callable[[str, str, int], Reply | None] = lambda *_: None
    queue: int = 1_000_000
    hangs: bool = False
    models: tuple[str, ...] = ("gpt-5-mini",)
    page: int = 100
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    computed: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    made: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def settings(self, wait_s: float = 20.0, **fields: Any) -> EnrichmentSettings:
        """Return settings that reach this server in batches, and look at them without a pause."""
        batch = {"poll_s": 0.001, "wait_s": wait_s, **fields.pop("batch", {})}
        given = {"base_url": self.base_url, "api_key": SecretStr("sk-loopback"), "mode": "batch", "max_retries": 0}
        return EnrichmentSettings(**{**given, "retry_delay_s": 0.001, "timeout_s": 20.0, **fields, "batch": batch})

    @property
    def paid(self) -> list[str]:
        """The sorted names of the tools of all computed answers, one for each answer."""
        return sorted(tool_of(line["body"])["name"] for line in self.computed)

    def lines(self, number: int = 0) -> Lines:
        """Return the requests of a batch."""
        batch = list(self.batches.values())[number]
        return [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]

    def proceed(self, *steps: str) -> None:
        """Set the next steps of the batches that have not ended."""
        for batch in self.batches.values():
            if batch["status"] not in _ENDS:
                batch["_steps"] = list(steps)

    def __exit__(self, *_: object) -> None:
        self.released.set()
        super().__exit__()

    def respond(self, method: str, target: str, headers: Mapping[str, str], data: bytes) -> Reply:
        """Return the answer to a call."""
        url = urlsplit(target)
        path = url.path.removeprefix("/v1")
        with self._lock:
            call = f"{method} {path}"
            count = self.calls.count(call)
            self.calls.append(call)
            if (instead := self.trouble(method, path, count)) is not None:
                return instead
            if headers.get("authorization") != "Bearer sk-loopback":
                return error(401, "Incorrect API key provided: sk-*.", code="invalid_api_key")
            match method, path.strip("/").split("/"):
                case "POST", ["files"]:
                    return self._upload(headers["content-type"], data)
                case "GET", ["files", file_id, "content"] if file_id in self.files:
                    return Reply(self.files[file_id].decode(), content_type="application/octet-stream")
                case "POST", ["batches"]:
                    made = self._create(json.loads(data))
                case "GET", ["batches"]:
                    return self._list(parse_qs(url.query))
                case "GET", ["batches", batch_id] if batch_id in self.batches:
                    return self._look(self.batches[batch_id])
                case "POST", ["batches", batch_id, "cancel"] if batch_id in self.batches:
                    self.batches[batch_id]["_steps"] = ["cancelling", "cancelled"]
                    return self._look(self.batches[batch_id])
                case _:
                    return error(404, f"Invalid URL ({method} {target})")
        self.made.set()
        if self.hangs:
            self.released.wait()
        return made

    def _upload(self, content_type: str, data: bytes) -> Reply:
        form = message_from_bytes(f"content-type: {content_type}\r\n\r\n".encode() + data)
        every: Any = form.get_payload()
        parts = {part.get_param("name", header="content-disposition"): part for part in every}
        if parts["purpose"].get_payload(decode=True) != b"batch":
            return error(400, "'purpose' must be 'batch'")
        name = parts["file"].get_filename()
        if not name.endswith(".jsonl"):
            return error(400, f"Invalid file format for Batch API: {name}. Must be .jsonl")
        kept = self._keep(parts["file"].get_payload(decode=True))
        size = len(self.files[kept])
        return Reply(
            {"id": kept, "object": "file", "bytes": size, "created_at": _CREATED, "filename": name, "purpose": "batch"}
        )

    def _keep(self, data: bytes) -> str:
        file_id = f"file-{len(self.files):04}"
        self.files[file_id] = data
        return file_id

    def _create(self, body: dict[str, Any]) -> Reply:
        if body["completion_window"] != "24h" or body["endpoint"] != "/v1/chat/completions":
            return error(400, "Invalid value for completion_window or endpoint")
        if body["input_file_id"] not in self.files:
            return error(400, f"Cannot find file {body['input_file_id']}, or it is of another project.")
        if not all(len(k) <= 64 and len(v) <= 512 for k, v in body.get("metadata", {}).items()):
            return error(400, "metadata is too long")
        number = len(self.batches)
        course = self.courses[number] if number < len(self.courses) else Course()
        self.batches[f"batch_{number:04}"] = batch = {
            "id": f"batch_{number:04}",
            "object": "batch",
            "endpoint": body["endpoint"],
            "errors": None,
            "input_file_id": body["input_file_id"],
            "completion_window": "24h",
            "status": "validating",
            "output_file_id": None,
            "error_file_id": None,
            "created_at": _CREATED + number,
            "expires_at": _CREATED + number + 86_400,
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
            "metadata": body.get("metadata"),
            "_steps": list(course.steps),
            "_course": course,
        }
        return Reply(None, drop=True) if course.loses else _shown(batch)

    def _list(self, query: Mapping[str, Sequence[str]]) -> Reply:
        newest = [batch for _, batch in sorted(self.batches.items(), reverse=True)]
        ids = [batch["id"] for batch in newest]
        first = ids.index(query["after"][0]) + 1 if "after" in query else 0
        end = first + min(int(query.get("limit", ["20"])[0]), self.page)
        data = [_shown(batch).body for batch in newest[first:end]]
        return Reply({"object": "list", "data": data, "has_more": end < len(newest)})

    def _look(self, batch: dict[str, Any]) -> Reply:
        """Return a batch as it stands, and move it one step on."""
        shown = _shown(batch)
        if batch["status"] not in _ENDS and batch["_steps"]:
            self._step(batch, batch["_steps"].pop(0))
            shown = _shown(batch)
        return shown

    def _step(self, batch: dict[str, Any], status: str) -> None:
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        if batch["status"] == "validating":
            if errors := self._invalid(lines, batch["endpoint"]):
                batch.update(status="failed", errors={"object": "list", "data": errors})
                return
            batch["request_counts"]["total"] = len(lines)
        batch["status"] = status
        if status == "finalizing":
            batch["request_counts"]["completed"] = len(lines)
        elif status in _ENDS:
            self._compute(batch, lines)

    def _invalid(self, lines: Lines, endpoint: str) -> Lines:
        waiting = sum(b["request_counts"]["total"] for b in self.batches.values() if b["status"] not in _ENDS)
        if waiting + len(lines) > self.queue:
            message = f"Enqueued token limit reached for gpt-5-mini. Limit: {self.queue:,} enqueued tokens."
            return [{"code": "token_limit_exceeded", "line": None, "message": message, "param": None}]
        errors: Lines = []
        for number, line in enumerate(lines, 1):
            keys, model = {"custom_id", "method", "url", "body"}, line["body"]["model"]
            if set(line) != keys or (line["method"], line["url"]) != ("POST", endpoint) or len(line["custom_id"]) > 64:
                code, message = "invalid_request", "A line has custom_id, method, the batch's url, and body"
            elif model not in self.models:
                code, message = "model_not_found", f"The provided model '{model}' is not supported"
            elif "unusual" in line["body"]["messages"][1]["content"]:
                code, message = "invalid_json_line", "This line is not parseable as valid JSON."
            else:
                continue
            errors.append({"code": code, "line": number, "message": message, "param": None})
        if len({line["custom_id"] for line in lines}) < len(lines):
            errors.append({"code": "duplicate_custom_id", "line": None, "message": "a custom_id is not unique"})
        return errors

    def _compute(self, batch: dict[str, Any], lines: Lines) -> None:
        course: Course = batch["_course"]
        outputs: Lines = []
        errors: Lines = []
        done = len(lines) if course.answered is None else course.answered
        for number, line in enumerate(lines):
            row = {"id": f"batch_req_{number}", "custom_id": line["custom_id"], "response": None, "error": None}
            if number >= done:
                code = f"batch_{batch['status']}"
                row["error"] = {"code": code, "message": "This request was not executed before the batch ended."}
                errors.append(row)
                continue
            reply = self.script(line["body"], len(self.computed) + 1)
            row["response"] = {"status_code": reply.status, "request_id": f"req_{number}", "body": reply.body}
            if reply.status < 300:
                self.computed.append(line)
            (outputs if reply.status < 300 else errors).append(row)
        counts = {"total": len(lines), "completed": len(outputs), "failed": len(errors)}
        batch["request_counts"] = counts
        for name, rows in (("output_file_id", course.spoil(outputs)), ("error_file_id", errors)):
            if rows:
                batch[name] = self._keep("".join(json.dumps(row) + "\n" for row in rows).encode())


def _shown(batch: Mapping[str, Any]) -> Reply:
    return Reply({key: value for key, value in batch.items() if not key.startswith("_")})
