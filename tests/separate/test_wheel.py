"""The built wheel, installed alone and with each extra: a command works there, or names the extra that it needs.

The packages come from the cache of uv, which `make test` fills. `make test-wheel` tries the core, `build` and `serve`,
`make nightly` every other extra too.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.ports import kept_port
from tests.support.waiting import until

pytestmark = pytest.mark.nightly

EXTRAS = [*tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]]
UV = str(Path(sys.executable).with_name("uv"))
PACKAGES = ("quartermaster", "router", "pipeline", "flows")
# Each with what it takes: `{demo}` is the demo's folder of snapshots, `{tools}` a file of tools.
COMMANDS = {
    "build": "build {tools} --encoder none",
    "search": "search refund --snapshot {demo}",
    "explain": "explain refund --snapshot {demo}",
    "call": "call stripe/createRefund --snapshot {demo} --dry-run",
    "inspect": "inspect stripe/createRefund --workspace {workspace}",
    "evaluate": "evaluate --bench {bench} --snapshot {demo}",
    "compare": "compare --snapshot {demo} --snapshot {demo} --bench {bench}",
    "train": "train {tools} --out encoder",
    "snapshots": "snapshots --workspace {workspace}",
    "push": "push --help",
    "pull": "pull --help",
    "quarantine": "quarantine --workspace {workspace}",
    "feedback": "feedback --help",
    "schedule": "schedule --help",
    "login": "login --help",
    "serve http": "serve http --help",
    "serve mcp": "serve mcp --help",
    "ledger": "ledger check --workspace {workspace}",
    "keys": "keys --help",
    "tokens": "tokens --help",
}
CLOCK = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("clock")


@server.tool()
def now() -> str:
    \"\"\"Tell what time it is.\"\"\"
    return "noon"


server.run()
"""
# What works without any extra.
OF_THE_CORE = ("search", "explain", "evaluate", "compare", "snapshots")


def outside() -> dict[str, str]:
    """The variables of the machine: without the certificate of the tests, and with pip's index for uv."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SSL_CERT_")}
    pip = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    index = subprocess.run(pip, env=variables, capture_output=True, text=True).stdout.strip()
    return {**variables, "UV_DEFAULT_INDEX": index} if index else variables


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the working tree."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder)
    build = [UV, "build", "-q", "--wheel", "--no-build-isolation", "--python", sys.executable, str(folder)]
    subprocess.run(build, check=True)
    return next((folder / "dist").glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that gives the programs of an environment with an extra ("" for none), in locked versions."""
    made: dict[str, Path] = {}

    def install(extra: str) -> Path:
        if extra not in made:
            folder = tmp_path_factory.mktemp("environment") / (extra or "core")
            subprocess.run([UV, "venv", "--no-config", "-q", "--python", sys.executable, folder], check=True)
            target = f"{wheel}[{extra}]" if extra else wheel
            locked = str(ROOT / "requirements" / "development.lock")
            python = str(folder / "bin" / "python")
            command = [UV, "pip", "install", "--no-config", "--native-tls", "-q", "--python", python, "-c", locked]
            subprocess.run([*command, str(target)], check=True, env=outside())
            made[extra] = folder / "bin"
        return made[extra]

    return install


@pytest.fixture(scope="session")
def places(encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The demo, built by the environment of the tests with a small encoder, and a file of tools."""
    workspace, bench, demo = *(tmp_path_factory.mktemp(name) for name in ("demo", "bench")), ROOT / "catalogs" / "demo"
    judged = (demo / "judgements.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (bench / "judgements.jsonl").write_text("".join(judged[:20]), encoding="utf-8")  # 392 take a comparison 10 s
    command = [sys.executable, "-m", "quartermaster", "build", str(demo), "--workspace", str(workspace)]
    subprocess.run([*command, "--encoder", str(encoder_folder)], check=True, capture_output=True)
    tools = workspace / "tools.jsonl"
    tools.write_text(json.dumps({"name": "send_mail", "description": "Send a mail."}) + "\n", encoding="utf-8")
    return {"workspace": workspace, "demo": workspace / "snapshots" / "demo", "bench": bench, "tools": tools}


def run(program: Path, arguments: str, folder: Path, places: dict[str, Path]) -> "subprocess.CompletedProcess[str]":
    """Run a command of an environment in a folder that has nothing of the checkout."""
    words = [word.format(**places) for word in arguments.split()]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "COLUMNS": "200"}
    return subprocess.run([program, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_in_the_core_alone_every_command_has_its_help(installed: Callable[[str], Path], tmp_path: Path) -> None:
    code = f"""
import sys
from quartermaster.__main__ import main
for command in {[*COMMANDS]!r}:
    sys.argv = ["quartermaster", *command.split(), "--help"]
    try:
        main()
    except SystemExit as end:
        assert end.code == 0, command
"""
    done = subprocess.run([installed("") / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Usage:") == len(COMMANDS)


@pytest.mark.parametrize("command", [name for name, arguments in COMMANDS.items() if not arguments.endswith("--help")])
def test_in_the_core_alone_a_command_works_or_names_its_extra(
    command: str, installed: Callable[[str], Path], places: dict[str, Path], tmp_path: Path
) -> None:
    done = run(installed("") / "quartermaster", COMMANDS[command], tmp_path, places)
    if command in OF_THE_CORE:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 2 and "pip install '.[" in done.stderr, (done.returncode, done.stderr)


def test_the_core_alone_says_its_version(installed: Callable[[str], Path], tmp_path: Path) -> None:
    done = run(installed("") / "quartermaster", "--version", tmp_path, {})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["build", "inspect", "ledger", "quarantine"])
def test_with_build_a_catalog_is_built_and_inspected(
    command: str, installed: Callable[[str], Path], places: dict[str, Path], tmp_path: Path
) -> None:
    done = run(installed("build") / "quartermaster", COMMANDS[command], tmp_path, places)
    assert done.returncode == 0, done.stderr


def test_with_serve_the_server_answers_over_http(
    installed: Callable[[str], Path], places: dict[str, Path], tmp_path: Path
) -> None:
    program = str(installed("serve") / "quartermaster")
    command = [program, "serve", "http", "--snapshot", str(places["demo"]), "--port"]
    with kept_port() as port, subprocess.Popen([*command, str(port)], cwd=tmp_path) as server:
        try:
            assert until(lambda: server.poll() is not None or answers(f"http://127.0.0.1:{port}/healthz"), 60)
            assert server.poll() is None
        finally:
            server.terminate()
            server.wait(20)


def test_with_serve_the_mcp_server_answers_for_a_clients_servers(
    installed: Callable[[str], Path], tmp_path: Path
) -> None:
    program = installed("serve") / "python"
    (tmp_path / "clock.py").write_text(CLOCK, encoding="utf-8")
    servers = {"mcpServers": {"clock": {"command": str(program), "args": [str(tmp_path / "clock.py")]}}}
    (tmp_path / "mcp.json").write_text(json.dumps(servers), encoding="utf-8")
    command = [str(program), "-m", "quartermaster", "serve", "mcp", "--upstream", "mcp.json", "--allow-commands"]
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = {"name": "find_tools", "arguments": {"request": "what time is it"}}
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            ask(server, {"id": 1, "method": "initialize", "params": opening})
            assert server.stdin is not None
            server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            assert "clock/now" in ask(server, {"id": 2, "method": "tools/call", "params": asked})
        finally:
            server.terminate()
            server.wait(20)


def ask(server: "subprocess.Popen[str]", request: dict[str, object]) -> str:
    """Return the line with the answer to a request over stdio; "" where the server ended."""
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
    server.stdin.flush()
    return next((line for line in server.stdout if json.loads(line).get("id") == request["id"]), "")


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


@pytest.mark.parametrize("extra", [extra for extra in EXTRAS if extra not in ("test", "catalogs")])
def test_of_the_extras_each_alone_breaks_no_command(
    extra: str, installed: Callable[[str], Path], places: dict[str, Path], tmp_path: Path
) -> None:
    program = installed(extra) / "quartermaster"
    for command, arguments in COMMANDS.items():
        done = run(program, arguments, tmp_path, places)
        assert done.returncode != 70 and "Traceback" not in done.stderr, (command, done.stderr)
