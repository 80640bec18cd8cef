"""A Prefect server that is lost: the build says so, and what it paid for and published stays."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from router import Router
from tests.support.places import ROOT
from tests.support.proxy import proxied

pytestmark = pytest.mark.nightly


def test_a_build_whose_server_is_lost_fails_in_one_sentence_and_what_it_published_serves(
    prefect_server: str, catalog_folder: Path, tmp_path: Path
) -> None:
    port = urlsplit(prefect_server).port
    assert port
    command = [sys.executable, "-m", "quartermaster", "build", str(catalog_folder), "--flow", "--encoder", "none"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PREFECT_API_REQUEST_TIMEOUT": "1"}
    env["PREFECT_CLIENT_MAX_RETRIES"] = "1"  # by default Prefect tries again for minutes
    with proxied(port) as proxy:
        env["PREFECT_API_URL"] = f"http://127.0.0.1:{proxy.port}/api"
        with subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            said = []
            for line in process.stderr:
                said.append(line)
                if "read started" in line:
                    proxy.switch("gone")
    assert process.returncode == 3, said
    assert "quartermaster: the Prefect server was lost" in said[-1] and "Traceback" not in "".join(said)
    assert len(Router.open(tmp_path / ".quartermaster" / "snapshots" / "office")) == 8
