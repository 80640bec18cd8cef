"""The Dockerfile and compose.yaml: what they copy exists, and their commands do what they are for.

No image is built here. The commands run in this environment, in a folder laid out as the images are.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from router import Router
from tests.support.command_line import called
from tests.support.documents import commands
from tests.support.places import ROOT
from tests.support.ports import kept_port
from tests.support.waiting import until

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
WORKSPACE = "/srv/quartermaster/.quartermaster"
NO_ENCODER = {"QUARTERMASTER_VECTORS__ENCODER": "none"}


def instructions(stage: str) -> list[tuple[str, str]]:
    """The instructions of a stage of the Dockerfile, each with its arguments."""
    (body,) = re.findall(rf"^FROM \S+ AS {stage}\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL)
    return re.findall(r"^([A-Z]+) +(.+)$", body, re.MULTILINE)


def command_of(stage: str, instruction: str = "CMD") -> list[str]:
    """The command of a stage, or of its health check."""
    (arguments,) = [arguments for name, arguments in instructions(stage) if name == instruction]
    command = yaml.safe_load(arguments[arguments.index("[") :])
    assert isinstance(command, list)
    return command


@pytest.fixture
def image(tmp_path: Path, catalog_folder: Path) -> Path:
    """The working folder of an image, with a small catalog in the place of the demo."""
    shutil.copytree(catalog_folder, tmp_path / "catalogs" / "demo")
    return tmp_path


def test_everything_that_is_copied_exists_and_is_let_through_every_package_among_it() -> None:
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    copied = {source.rstrip("/") for line in lines for source in line.split()}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert ignored[1] == "*"
    assert {source for source in copied if not (ROOT / source).exists()} == set()
    assert {line[1:] for line in ignored if line.startswith("!")} == {source.partition("/")[0] for source in copied}
    assert {path.parent.name for path in ROOT.glob("*/py.typed")} <= copied


def test_stages_are_built_from_earlier_ones_and_services_from_stages() -> None:
    seen: set[str] = set()
    for line in DOCKERFILE.splitlines():
        if found := re.match(r"FROM (\S+) AS (\S+)$", line):
            assert found[1] in seen or ":" in found[1], line
            seen.add(found[2])
        elif found := re.match(r"COPY --from=(\S+)", line):
            assert found[1] in seen, line
    assert {service["build"]["target"] for service in SERVICES.values()} == {"router", "worker"} <= seen


def test_images_install_by_hash_and_services_run_without_rights_and_publish_on_this_machine_alone() -> None:
    installs = re.findall(r"pip install (.*?)(?= && |$)", DOCKERFILE, re.MULTILINE)
    assert len(installs) == 5
    assert all("--require-hashes --no-deps -r /locks/" in line or "--no-deps /wheels/" in line for line in installs)
    assert re.findall(r"pip wheel .*", DOCKERFILE) == [
        "pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels ."
    ]
    assert ("USER", "10001") in instructions("user")
    for name, service in SERVICES.items():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
    mounted = [volume for service in SERVICES.values() for volume in service["volumes"] if WORKSPACE in volume]
    assert mounted == [f"workspace:{WORKSPACE}:ro", f"workspace:{WORKSPACE}", f"workspace:{WORKSPACE}"]


def test_the_first_build_publishes_into_the_workspace(image: Path) -> None:
    shell, option, line = SERVICES["first-build"]["command"]
    build, otherwise = line.split(" || ")
    assert (shell, option) == ("sh", "-c")
    # Where a gate holds the build back, an earlier snapshot serves; where there is none, nothing can.
    assert subprocess.run(["sh", "-c", otherwise], cwd=image).returncode != 0
    done = called(image, *shlex.split(build)[1:], **NO_ENCODER)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(["sh", "-c", otherwise], cwd=image).returncode == 0
    assert len(Router.open(image / ".quartermaster" / "snapshots" / "demo")) == 8


@pytest.fixture
def port() -> Iterator[int]:
    with kept_port() as port:
        yield port


@pytest.mark.nightly
def test_the_router_becomes_healthy_and_ends_when_told(image: Path, workspace: Path, port: int) -> None:
    (image / ".quartermaster").symlink_to(workspace)
    _, *arguments = SERVICES["router"]["command"]
    _, *check = command_of("router", "HEALTHCHECK")
    process = subprocess.Popen(
        [sys.executable, "-m", "quartermaster", *arguments, "--port", str(port)],
        cwd=image,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT), "QUARTERMASTER_TOKEN": "sixteen-or-more-characters"},
    )
    try:
        healthy = [sys.executable, *(argument.replace("8080", str(port)) for argument in check)]
        assert until(
            lambda: process.poll() is not None or not subprocess.run(healthy, capture_output=True).returncode, 60
        )
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_the_router_asks_for_a_token(image: Path, workspace: Path) -> None:
    (image / ".quartermaster").symlink_to(workspace)
    done = called(image, *SERVICES["router"]["command"][1:])
    assert done.returncode == 2 and "there is no token: set QUARTERMASTER_TOKEN" in done.stderr
    assert SERVICES["router"]["environment"]["QUARTERMASTER_TOKEN"].startswith("${QUARTERMASTER_TOKEN:?")


def test_services_run_the_commands_of_the_images_the_documents_and_a_schedule() -> None:
    assert command_of("router") == SERVICES["router"]["command"]
    nightly = SERVICES["nightly"]
    # tests/flows/test_schedule.py runs that line, at the server of PREFECT_API_URL.
    assert command_of("worker") == nightly["command"] in [shlex.split(line) for line in commands("schedule")]
    assert nightly["environment"]["PREFECT_API_URL"] == "http://prefect:4200/api"
    runtime = (ROOT / "flows" / "runtime.py").read_text(encoding="utf-8")
    *command, host = SERVICES["prefect"]["command"]
    assert ", ".join(f'"{word}"' for word in command) in runtime
    assert host == "0.0.0.0"
