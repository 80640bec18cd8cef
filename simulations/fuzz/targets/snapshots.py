"""A snapshot's manifest and every other file of it, changed, with checksums that fit or do not fit."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from router import Router
from router.contract import MANIFEST
from router.errors import SnapshotInvalid
from router.fingerprint import fingerprint
from simulations.fuzz.mutation import Form
from simulations.fuzz.target import NoInput, Resources, Run, Target, read_object
from simulations.fuzz.targets import seeds
from simulations.fuzz.targets.routing import check_answer

_REQUESTS = ("undo a payment", "please pull failed payments", "zeige alles und melde es dem Team")
_GROWTH = 1 << 16
_SEGMENT = re.compile("[0-9a-f]{32}")


class _Copy:
    """A copy of a snapshot that is changed for each input. Files that an input leaves alone are hard links."""

    def __init__(self, resources: Resources) -> None:
        place = resources.folder("snapshot")
        self._original, self.folder = place / "original", place / "changed"
        shutil.copytree(resources.snapshot, self._original)
        self.manifest = (self._original / MANIFEST).read_bytes()
        files = (path for path in self._original.rglob("*") if path.is_file() and path.name != MANIFEST)
        self._paths = {_name(path, self._original): path for path in sorted(files)}
        self.files = {name: path.read_bytes() for name, path in self._paths.items()}
        with Router.open(self._original) as router:
            self.answers = _answers(router)

    def sha256(self, name: str) -> str:
        """Return the checksum of a file; of nothing for a name that is none."""
        return hashlib.sha256(self.files.get(_stable(name), b"")).hexdigest()

    def rehashed(self, changed: dict[str, bytes]) -> bytes:
        """Return the manifest with the checksums of changed files, so that the check of them hides nothing."""
        row = json.loads(self.manifest)
        del row["checksum"]
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in changed.items()}
        row["files"] = {name: digests.get(_stable(name), digest) for name, digest in row["files"].items()}
        return _with_checksum(row)

    def write(self, changed: dict[str, bytes], manifest: bytes) -> None:
        """Write the folder with these files changed."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, original in self._paths.items():
            path = self.folder / original.relative_to(self._original)
            path.parent.mkdir(parents=True, exist_ok=True)
            if name in changed:
                path.write_bytes(changed[name])
            else:
                os.link(original, path)
        (self.folder / MANIFEST).write_bytes(manifest)

    def open_and_route(self) -> list[tuple[str, ...]]:
        """Return the answers of the changed snapshot."""
        with Router.open(self.folder) as router:
            return _answers(router)


def _name(path: Path, folder: Path) -> str:
    return _stable(path.relative_to(folder).as_posix())


def _stable(name: str) -> str:
    """Return a file's name with the id of its index's segment replaced, which every build draws anew."""
    return _SEGMENT.sub("segment", name)


def _answers(router: Router) -> list[tuple[str, ...]]:
    answers = []
    for request in _REQUESTS:
        routed = router.route(request, k=3, explain=True, token_budget=2_000)
        check_answer(routed, 3, 2_000)
        answers.append(routed.ids)
    return answers


def _manifest(resources: Resources) -> Run:
    copy = _Copy(resources)

    def run(data: bytes) -> None:
        row = read_object(data)
        row.pop("checksum", None)
        files = row.get("files")
        if isinstance(files, dict):  # a pinned input holds no hash of a snapshot that was built once
            row["files"] = {n: copy.sha256(n) if digest == "$sha256" else digest for n, digest in files.items()}
        copy.write({}, _with_checksum(row))
        copy.open_and_route()

    return run


def _with_checksum(row: dict[str, Any]) -> bytes:
    """Return a manifest with its checksum, so that the check of it hides nothing."""
    try:
        return json.dumps({**row, "checksum": fingerprint(row)}).encode()
    except RecursionError:
        raise NoInput from None


def _manifest_seeds(resources: Resources) -> tuple[bytes, ...]:
    row = json.loads((resources.snapshot / MANIFEST).read_bytes())
    return (seeds.document({**row, "files": dict.fromkeys(row["files"], "$sha256")}),)


def _files(resources: Resources) -> Run:
    copy = _Copy(resources)
    names = list(copy.files)

    def run(data: bytes) -> None:
        plan = read_object(data)
        changed: dict[str, bytes] = {}
        edits = plan.get("edits")
        for edit in edits[:8] if isinstance(edits, list) else ():
            name, content = _edited(edit, {**copy.files, **changed}, names)
            changed[name] = content
        if plan.get("rehash"):
            copy.write(changed, copy.rehashed(changed))
            copy.open_and_route()
        else:
            copy.write(changed, copy.manifest)
            same = copy.open_and_route() == copy.answers
            assert same, (
                f"a snapshot whose {', '.join(changed)} changed opens with the old manifest, and answers otherwise"
            )

    return run


def _edited(edit: Any, files: dict[str, bytes], names: list[str]) -> tuple[str, bytes]:
    """Return the file that an edit changes, and its new content: `{"file", "kind", "at", "value"}`."""
    if not isinstance(edit, dict):
        raise NoInput
    name = edit.get("file")
    name = name if isinstance(name, str) and name in files else names[_number(name) % len(names)]
    content, value = files[name], edit.get("value")
    at = _number(edit.get("at")) % (len(content) + 1)
    match edit.get("kind"):
        case "flip":
            return name, content[:at] + bytes(
                byte ^ (1 << _number(value) % 8) for byte in content[at : at + 1]
            ) + content[at + 1 :]
        case "cut":
            return name, content[:at]
        case "grow":
            return name, content + bytes([_number(value) % 256]) * (at % _GROWTH)
        case "swap":
            return name, files[
                value if isinstance(value, str) and value in files else names[_number(value) % len(names)]
            ]
        case "write":
            written = str(value).encode("utf-8", "replace")
            return name, content[:at] + written + content[at + len(written) :]
        case "replace" if isinstance(value, list) and len(value) == 2:
            old, new = (str(part).encode("utf-8", "replace") for part in value)
            return name, content.replace(old, new, 1) if old else content
        case _:
            return name, content[:at] + content[at + 1 + _number(value) % 64 :]


def _number(value: object) -> int:
    return (
        abs(int(value))
        if isinstance(value, int) or (isinstance(value, float) and abs(value) < 2**60)
        else len(str(value))
    )


def _file_seeds(resources: Resources) -> tuple[bytes, ...]:
    """Return a flip of each file, and edits that parsers notice: headers of arrays, text of JSON."""
    files = (path for path in sorted(resources.snapshot.rglob("*")) if path.is_file() and path.name != MANIFEST)
    names = [_name(path, resources.snapshot) for path in files]
    plans = [[{"file": name, "kind": "flip", "at": 4_097, "value": 3}] for name in names]
    arrays = [name for name in names if name.endswith(".npy")]
    plans += [[{"file": name, "kind": "replace", "at": 0, "value": ["(", "(1"]}] for name in arrays]
    plans += [[{"file": name, "kind": "write", "at": 128, "value": "\xff\xff\xff\x7f"}] for name in arrays]
    plans += [[{"file": name, "kind": "cut", "at": 64, "value": 0}] for name in names[::3]]
    plans += [
        [
            {"file": arrays[0], "kind": "swap", "at": 0, "value": arrays[1]},
            {"file": 5, "kind": "grow", "at": 900, "value": 9},
        ]
    ]
    plans += [[{"file": "records.jsonl", "kind": "replace", "at": 0, "value": ['"name"', '"nome"']}]]
    return tuple(seeds.document({"rehash": rehash, "edits": plan}) for plan in plans for rehash in (True, False))


_REFUSED = (SnapshotInvalid,)
TARGETS = (
    Target("manifest", Form.JSON, _manifest_seeds, _manifest, _REFUSED, gate=15),
    Target("snapshot_files", Form.JSON, _file_seeds, _files, _REFUSED, gate=15),
)
