"""A disk that fills up amid paid answers: what was stored is kept, what was lost is counted, nothing more is asked."""

import re
import subprocess
import sys
from pathlib import Path

from pipeline.enrichment.openai import DirectGenerator
from tests.pipeline.enrichment.catalog_run import catalog, ledger_rows, run
from tests.pipeline.enrichment.model_server import COST, ModelServer, Reply, answer
from tests.support.places import ROOT

_NAMES = [f"t{n:03}" for n in range(200)]
# No file may grow beyond so many bytes: the system's answer is that of a full disk.
_LIMITED = """
import resource, sys
from pathlib import Path
from pipeline.enrichment.openai import DirectGenerator
from pipeline.errors import RunAborted
from pipeline.ledger import Ledger
from tests.pipeline.enrichment.catalog_run import catalog, run
from tests.pipeline.enrichment.model_server import ModelServer

workspace = Path(sys.argv[1])
with Ledger.open(workspace):
    pass
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
server = ModelServer()
server.base_url = sys.argv[2]
try:
    run(workspace, catalog(*sys.argv[4:]), DirectGenerator(server.settings(concurrency=4)))
except RunAborted as error:
    print(error)
"""


def test_answers_that_could_not_be_stored_are_counted_and_the_others_are_kept(tmp_path: Path) -> None:
    with ModelServer(lambda body, _: Reply(answer(body).body, delay_s=0.02)) as server:
        command = [sys.executable, "-c", _LIMITED, str(tmp_path), server.base_url, "150000", *_NAMES]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        asked = len(server.requests)
        kept = [name for (name,) in ledger_rows(tmp_path, "SELECT tool_id FROM expansions")]
        told = re.search(r"because the disk is full .*, (\d+) could not be stored .*\(for ([\d.]+) US", ended.stdout)
        assert told is not None, ended
        assert 0 < int(told[1]) <= 8
        assert float(told[2]) == round(int(told[1]) * COST, 6)
        assert 0 < len(kept) == asked - int(told[1]) < len(_NAMES)
        result = run(tmp_path, catalog(*_NAMES), DirectGenerator(server.settings(concurrency=4)))
    assert result.reused == len(kept)
    assert len(server.requests) - asked == len(_NAMES) - len(kept)
