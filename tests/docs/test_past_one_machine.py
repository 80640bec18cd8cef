"""The commands of the pages about buckets and clusters, beside a real S3 server and a real Dask scheduler."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.support.command_line import called
from tests.support.documents import blocks, commands, lines, pages
from tests.support.object_storage import Bucket, ObjectStorage
from tests.support.places import ROOT

pytestmark = pytest.mark.nightly

NAMED = "bucket"  # by the pages
PAGES = [page for page in pages() if blocks("sh", "bucket", page)]


@pytest.fixture
def bucket_of_the_pages(object_storage: ObjectStorage) -> Iterator[Bucket]:
    """An empty bucket of the name that the pages give theirs."""
    bucket = Bucket(NAMED, object_storage.port)
    with urlopen(Request(f"{bucket.endpoint}/{NAMED}", method="PUT"), timeout=30):
        pass
    yield bucket
    store = bucket.store()
    store.delete([stored["path"] for batch in store.list() for stored in batch])
    with urlopen(Request(f"{bucket.endpoint}/{NAMED}", method="DELETE"), timeout=30):
        pass


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_commands_about_a_bucket_run(page: Path, reader: Path, bucket_of_the_pages: Bucket) -> None:
    variables = {**bucket_of_the_pages.environment, "XDG_CACHE_HOME": str(reader / "cache")}
    for block in blocks("sh", "bucket", page):
        for line in lines(block):
            if line.startswith("export "):
                variables |= dict(pair.split("=", 1) for pair in shlex.split(line)[1:] if "AWS" not in pair)
                continue
            program, *arguments = shlex.split(line)
            assert program == "quartermaster", f"{block}: {line}"
            if arguments[0] == "serve":
                serves(reader, arguments, variables)
                continue
            done = called(reader, *arguments, **variables)
            assert done.returncode == 0, f"{block}: {line}\n{done.stderr}"
            assert (done.stdout + done.stderr).strip(), f"{block}: {line}"


def serves(folder: Path, arguments: list[str], variables: dict[str, str]) -> None:
    """Start a server, on a free port, and ask it whether it is ready."""
    with running([sys.executable, "-m", "quartermaster", *arguments, "--port", "0"], folder, **variables) as server:
        assert server.stdout is not None and server.stderr is not None
        said = server.stdout.readline()  # nothing, where it ends
        found = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert found, said + server.stderr.read()
        with urlopen(f"{found.group()}/readyz", timeout=30) as answer:
            assert answer.status == 200


def test_a_worker_finds_its_scheduler_by_the_commands_of_the_page(tmp_path: Path) -> None:
    scheduler_line, worker_line = commands("cluster")
    with ExitStack() as stack:

        def dask(line: str, *options: str) -> "subprocess.Popen[str]":
            _, program, *own = shlex.split(line)
            command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *own, "--no-dashboard", *options]
            return stack.enter_context(running(command, tmp_path))

        scheduler = dask(scheduler_line.replace("8786", "0"), "--host", "127.0.0.1")
        assert scheduler.stderr is not None
        address = next(found.group() for line in scheduler.stderr if (found := re.search(r"tcp://127\S+", line)))
        of_the_page = worker_line.replace("tcp://10.0.0.5:8786", address).replace("--nworkers 8", "--nworkers 1")
        dask(of_the_page, "--local-directory", str(tmp_path))
        from distributed import Client

        connect: Any = Client
        with connect(address, timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
            (threads,) = client.nthreads().values()
        assert threads == 1


@contextmanager
def running(command: list[str], folder: Path, **variables: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a command until the block ends."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **variables}
    with subprocess.Popen(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
