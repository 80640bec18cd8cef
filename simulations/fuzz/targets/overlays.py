"""Tools that are registered and removed while a router serves, and the file that keeps them."""

import json
from typing import Any

from router import Router
from router.errors import QuartermasterError, SnapshotInvalid
from router.fingerprint import fingerprint
from router.record import ToolRecord
from router.snapshot.overlay.storage import load_overlay, save_overlay
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import NoInput, Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds
from simulations.fuzz.targets.routing import check_answer
from tests.support.factories import TOOLS, make_record


def _operations(resources: Resources) -> Run:
    path = resources.scratch / "saved-overlay.json"

    def run(data: bytes) -> None:
        operations = read_object(data).get("operations")
        if not isinstance(operations, list):
            raise NoInput
        with Router.open(resources.snapshot) as router:
            for operation in operations[:20]:
                try:
                    _carry_out(router, operation)
                except QuartermasterError:
                    continue  # refused: nothing may have changed, which the checks below see
            routed = router.route("undo a payment", k=50)
            check_answer(routed, 50, None)
            assert set(routed.ids) <= {record.tool_id for record in router.tools}, "a tool answers that does not serve"
            assert not set(routed.ids) & router.overlay.gone, "a removed tool answers"
            router.save_overlay(path)
            assert load_overlay(path).revision == router.overlay.revision, "the overlay changes when stored"

    return run


def _carry_out(router: Router, operation: Any) -> None:
    """Carry out `[method, {arguments}]`, where it is one."""
    if not (isinstance(operation, list) and len(operation) == 2 and isinstance(operation[1], dict)):
        return
    method, arguments = operation
    if method == "register":
        router.register(arguments.get("tools"), provider=arguments.get("provider"), phrases=arguments.get("phrases"))
    elif method == "replace":
        router.replace(arguments.get("source"), arguments.get("tools"), phrases=arguments.get("phrases"))
    elif method == "remove":
        router.remove(arguments.get("ids"))


def _file(resources: Resources) -> Run:
    write, again = resources.file("overlay.json"), resources.scratch / "overlay-again.json"

    def run(data: bytes) -> None:
        path = write(_with_checksum(data))
        overlay = load_overlay(path)
        with Router.open(resources.snapshot, overlay=path) as router:
            routed = router.route("undo a payment", k=50)
            check_answer(routed, 50, None)
            assert not set(routed.ids) & (overlay.gone - overlay.tools.keys()), "a removed tool answers"
        save_overlay(overlay, again)
        assert load_overlay(again) == overlay, "the overlay changes when stored"

    return run


def _with_checksum(data: bytes) -> bytes:
    """Return an overlay's file with the checksum of its content, so that the check of it hides nothing."""
    try:
        row = json.loads(data)
        if not (isinstance(row, dict) and "checksum" in row):
            return data
        content = {key: row.get(key) for key in ("tools", "gone", "lists")}
        return json.dumps({**row, "checksum": fingerprint(content)}).encode()
    except (ValueError, RecursionError, TypeError):
        return data


def _stored(*records: ToolRecord) -> bytes:
    tools = [{"record": record.to_json(), "source": "files", "phrases": ["open it"]} for record in records]
    row = {"tools": tools, "gone": [TOOLS[1]["id"]], "lists": {"slack": [TOOLS[5]["id"]]}}
    return seeds.document({"format": 1, "checksum": "", **row})


_OPERATIONS = [
    ["register", {"tools": [*seeds.FUNCTIONS, TOOLS[0]], "provider": "office", "phrases": {"office/deep": ["dig"]}}],
    ["remove", {"ids": [TOOLS[1]["id"], "no/such"]}],
    ["replace", {"source": "slack", "tools": seeds.MCP["result"]["tools"], "phrases": {"slack/list": ["show all"]}}],
    ["register", {"tools": {"linear": [TOOLS[2]]}}],
]
_FILES = (_stored(make_record("read", "files"), make_record("list_charges", "stripe")),)
TARGETS = (
    Target("overlay_operations", Form.JSON, (seeds.document({"operations": _OPERATIONS}),), _operations, gate=12),
    Target("overlay_file", Form.JSON, _FILES, _file, (SnapshotInvalid,), gate=15),
)
