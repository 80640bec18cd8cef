"""Signals end a command at once that waits for a bucket."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.faults import Fault
from tests.support.faulty_proxy import faulty_proxy
from tests.support.object_storage import Bucket
from tests.support.places import ROOT
from tests.support.publishing import Publications
from tests.support.uploading import BucketCatalog
from tests.support.waiting import until

NIGHTLY = pytest.mark.nightly
SERVE = ("serve", "http", "--port", "0", "--snapshot")
_MAIN = "from quartermaster.cli.main import main; main()"


@pytest.mark.parametrize(
    ("command", "request_", "number"),
    [
        pytest.param(["snapshots", "{url}"], ("GET", "*/CURRENT"), signal.SIGINT, id="list"),
        pytest.param(["push", "{office}/a", "{url}"], ("PUT", "*/files/*"), signal.SIGINT, id="push", marks=NIGHTLY),
        pytest.param([*SERVE, "{url}"], ("GET", "*/manifest.json"), signal.SIGTERM, id="serve", marks=NIGHTLY),
    ],
)
def test_a_command_that_waits_for_a_bucket_ends_at_a_signal(
    bucket: Bucket,
    snapshot: Path,
    tmp_path: Path,
    command: list[str],
    request_: tuple[str, str],
    number: signal.Signals,
) -> None:
    office = Publications(tmp_path / "built", snapshot)
    for name in ("a", "b"):
        office.add(name)
    catalog = BucketCatalog(bucket)
    if command[0] != "push":
        catalog.publish(catalog.upload(office.folder / "b"))
    with faulty_proxy(bucket.port) as proxy:
        arguments = [word.format(url=catalog.url, office=office.folder) for word in command]
        environment = {**os.environ, **bucket.through(proxy.port).environment, "PYTHONPATH": str(ROOT)}
        proxy.plan.set(Fault("hang", *request_, seconds=60))
        process = subprocess.Popen(
            [sys.executable, "-c", _MAIN, *arguments],
            cwd=tmp_path,
            env={**environment, "QUARTERMASTER_CACHE_DIR": str(tmp_path / "cache")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert until(lambda: proxy.plan.counts["hang"] or process.poll() is not None, 150)
            process.send_signal(number)
            assert process.wait(150) == 128 + number
        finally:
            process.kill()
            process.wait()
