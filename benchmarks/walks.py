"""Count what a reader must follow: `python -m benchmarks.walks [SNAPSHOT]`.

For each walk the project's own functions that run, and the files that they lie in: distinct ones, by package; named
functions, so neither comprehensions nor lambdas nor a module's own code. Then the modules that a fresh process has
loaded, with their lines. Without SNAPSHOT, `catalogs/demo` is built first, in a folder that is removed.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("router", "pipeline", "flows", "quartermaster")
REQUEST = "a customer was charged twice, give one of the payments back"
_TOOLS = [
    {"name": "refund_charge", "description": "Gives a customer the money of a charge back."},
    {"name": "list_charges", "description": "Lists the charges of a customer."},
    {"name": "create_issue", "description": "Opens an issue in a repository."},
]
_LOADED = {
    "import": "import router",
    "route": "from router import Router\nRouter.open(sys.argv[1]).route(sys.argv[2])",
    "from_tools": "from router import Router\nRouter.from_tools([print], encoder=None).route(sys.argv[2])",
    "server": "from router import Router\nfrom quartermaster.serving.http import HttpSettings, app\n"
    "app(Router.open(sys.argv[1]), HttpSettings())",
}
_LIST = """
import json
loaded = {name: module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] in PACKAGES}
print(json.dumps([file for file in loaded.values() if file]))
"""


def walked(walk: Callable[[], object]) -> dict[str, Any]:
    """Functions and files of a walk, in all and by package. Threads that it starts count too."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    # A thread that the walk started may still run.
    own = [code for code in tuple(seen) if not code.co_name.startswith("<") and package_of(code.co_filename)]
    return {
        "functions": len(own),
        "files": len({code.co_filename for code in own}),
        "by package": dict(Counter(package_of(code.co_filename) for code in own).most_common()),
    }


def package_of(file: str) -> str | None:
    """The project's package that a file lies in; None for any other file."""
    path = Path(file)
    inside = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0]
    return inside if inside in PACKAGES else None


def loaded(program: str, snapshot: Path) -> dict[str, int]:
    """Files of the project, and their lines, that a fresh process has loaded after a program."""
    code = f"import sys\nPACKAGES = {PACKAGES!r}\n{program}\n{_LIST}"
    command = [sys.executable, "-c", code, str(snapshot), REQUEST]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    files = [Path(file) for file in json.loads(done.stdout.splitlines()[-1])]
    return {"files": len(files), "lines": sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)}


def measure(snapshot: Path, folder: Path) -> dict[str, Any]:
    """The walks and the loads. The walks run twice, and the second is counted: what is made once is not the walk."""
    import httpx

    from pipeline.build import build
    from pipeline.settings import load
    from quartermaster.serving.http import HttpSettings, app
    from router import Router

    tools = folder / "tools.json"
    tools.write_text(json.dumps(_TOOLS), encoding="utf-8")
    settings = load(tools)
    router = Router.open(snapshot)
    application = app(router, HttpSettings())

    async def post() -> None:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            (await client.post("/v1/route", json={"request": REQUEST})).raise_for_status()

    walks: dict[str, Callable[[], object]] = {
        "Router.open": lambda: Router.open(snapshot),
        "route": lambda: router.route(REQUEST),
        "Router.from_tools of one function": lambda: Router.from_tools([measure], encoder=None),
        "POST /v1/route": lambda: asyncio.run(post()),
        "a build of three tools": lambda: build(settings, workspace=Path(tempfile.mkdtemp(dir=folder))),
    }
    for walk in walks.values():
        walk()
    functions = {name: walked(walk) for name, walk in walks.items()}
    return {"walks": functions, "loaded": {name: loaded(code, snapshot) for name, code in _LOADED.items()}}


def main() -> None:
    """Count, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", nargs="?", type=Path)
    parser.add_argument("--json", type=Path, help="write the result to a file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(measure(arguments.snapshot or _demo(Path(folder)), Path(folder)), indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")


def _demo(folder: Path) -> Path:
    command = [sys.executable, "-m", "quartermaster", "build", "catalogs/demo", "--workspace", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return Path(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
