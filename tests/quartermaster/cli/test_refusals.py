"""What cannot be done is one sentence with an exit code of its own: nothing is printed, made or sent."""

import json
import shlex
import shutil
from functools import partialmethod
from pathlib import Path

import pytest

from pipeline.ledger import LEDGER_FILE
from pipeline.store.bucket.store import BucketStore
from quartermaster.cli.commands.serve import feedback_log
from router import SettingsInvalid
from router.snapshot.store.bucket import reader
from tests.support.command_line import Run

_UNNAMED = "none of the 1 records has a name. Their keys are `api_name`, `functionality`"


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("build nowhere", 2, "nowhere does not exist"),
        ("build {catalog} --generator magic", 2, "enrichment.generator"),
        ("build {catalog} --encoder nobody/none-such", 3, "nobody/none-such"),
        ("build {catalog} --encoder none --workspace /proc/nowhere", 2, "--workspace"),
        ("build {odd} --encoder none", 3, f"{_UNNAMED}: say in catalog.toml, under the [[source]]"),
        ("build {odd} --encoder none --plan", 3, '[source.fields] name = "api_name"'),
        ("search refund --workspace none", 4, "quartermaster build"),
        ("search refund --snapshot nowhere", 4, "does not exist"),
        ("search ''", 2, "empty"),
        ("search refund -k 0", 2, "k is 0"),
        ("search refund --recipe best", 2, "published"),
        ("explain refund no/tool", 2, "no/tool"),
        ("explain refund no/tool --category x", 2, "leave out --category"),
        ("snapshots nothing", 4, "nothing"),
        ("snapshots --rollback --use x", 2, "--use"),
        ("inspect slack/chat_post", 2, "did you mean 'slack/chat_postMessage' or"),
        ("inspect a/tool --table tools", 2, "TOOL and --table cannot be combined: give one"),
        ("inspect --sql 'SELECT 1' --against x", 2, "--against and --sql cannot be combined: give one"),
        ("inspect --table nothing", 2, "choose from builds, changes"),
        ("inspect --table tools --limit 0", 2, "the limit is 0"),
        ("inspect --limit -1", 2, "the limit is -1"),
        ("inspect --sql 'SELECT nme FROM tools'", 2, "Candidate bindings"),
        ("inspect --sql 'DROP TABLE tools'", 2, "a snapshot is read-only"),
        ("""inspect --sql "FROM read_text('/etc/hostname')" """, 2, "disabled by configuration"),
        ("inspect --against 20200101T000000Z-00000000", 4, "neither a snapshot of this catalog"),
        ("inspect --catalog nothing", 4, "has no catalog 'nothing': it has office"),
        ("inspect --snapshot nowhere", 4, "does not exist"),
        ("evaluate --bench {catalog} --json nowhere/x.json", 2, "queries.jsonl"),
        ("compare --bench {catalog}", 2, "holds neither queries.jsonl nor judgements.jsonl"),
        ("evaluate --bench {empty}", 2, "contains no requests"),
        ("evaluate --bench {bench} --html no/out.html", 2, "--html no/out.html: its folder does not exist"),
        ("evaluate --bench {bench} --snapshot {snapshot} --against-recipe best", 2, "there is no recipe 'best'"),
        ("compare --bench {bench} --snapshot {snapshot} --recipe nearest", 2, "there is no recipe 'nearest'"),
        ("compare --bench {bench} --bench b --snapshot {snapshot}", 2, "--snapshot can be measured on one --bench"),
        ("evaluate --bench x --against-encoder none --against a", 2, "by one recipe: leave out --against, or"),
        (
            "evaluate --bench x --against-encoder none --snapshot a --against-recipe lexical",
            2,
            "leave out --snapshot and --against-recipe, or",
        ),
        ("ledger show --workspace none", 3, "has no ledger: a build makes one"),
        ("ledger check none.duckdb", 2, "none.duckdb is not a file"),
        ("ledger restore none.duckdb", 2, "none.duckdb is not a file"),
        ("ledger restore --workspace {bench}", 3, "has no backup of the ledger"),
        ("ledger backup nowhere/kept.duckdb", 2, "choose another place"),
        ("ledger backup disk/", 2, "there is no folder disk/: make it, or name a file"),
        ("ledger backup {workspace}/" + LEDGER_FILE, 2, "is the ledger itself"),
        ("ledger show --sql 'DELETE FROM expansions'", 2, "read-only"),
        ("ledger show --sql 'SELECT 1; SELECT 2'", 2, "holds 2 statements: give one"),
        ("ledger show --sql 'FROM nowhere'", 2, "DuckDB refused the SQL"),
        ("ledger show --sql \"FROM '/etc/passwd'\"", 2, "DuckDB refused the SQL"),
        ("serve mcp --profiles p.toml", 2, "say which of them with --profile NAME"),
        ("serve mcp --profile support", 2, "name one with --profiles FILE"),
        ("serve mcp --profiles p.toml --profile support --http", 2, "over HTTP each token"),
        ("feedback missing", 2, "there is no feedback log in missing: name the folder that --feedback was given"),
        ("pull demo", 2, "is not the address of a bucket"),
        ("pull s3://bucket", 2, "names no catalog"),
        ("pull s3://key:secret@bucket/demo", 2, "must hold no credentials"),
        ("pull s3://bucket/office", 3, "does not answer"),
        ("search refund --snapshot s3://bucket/office", 4, "does not answer"),
        ("push office ftp://office", 2, "is not the address of a bucket"),
        ("push office s3://key:secret@bucket/office", 2, "must hold no credentials"),
        ("push nothing s3://bucket/office", 4, "nor a catalog of the workspace"),
        ("snapshots s3://bucket", 2, "names no catalog"),
        ("snapshots s3://bucket/office", 3, "CURRENT"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_with_its_exit_code(
    run: Run,
    tmp_path: Path,
    workspace: Path,
    catalog_folder: Path,
    snapshot: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    code: int,
    sentence: str,
) -> None:
    monkeypatch.setattr(reader, "_LOOK_PATIENCE_S", 0.05)  # a bucket that is away is tried again for so long
    monkeypatch.setattr(BucketStore, "__init__", partialmethod(BucketStore.__init__, patience_s=0.1))
    tools = ["stripe/create_refund"]
    row = {"id": "1", "query": "undo it", "kind": "single", "required": tools, "acceptable": tools}
    for name, text in (("bench", json.dumps(row)), ("empty", "\n")):
        if f"{{{name}}}" in line:
            shutil.copytree(catalog_folder, tmp_path / name)
            (tmp_path / name / "queries.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "odd.jsonl").write_text('{"api_name": "c", "functionality": "Does c."}', encoding="utf-8")
    places = {
        "odd": "odd.jsonl",
        "catalog": catalog_folder,
        "workspace": workspace,
        "snapshot": snapshot,
        "bench": "bench",
    }
    arguments = shlex.split(line.format(**places, empty="empty"))
    elsewhere = "--workspace" in arguments or arguments[0] in ("serve", "pull", "build", "feedback")
    workspaces = () if elsewhere else ("--workspace", workspace)
    before = sorted(tmp_path.rglob("*"))
    nowhere = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    done = run(*arguments, *workspaces, QUARTERMASTER_CACHE=str(tmp_path / "caches"), **nowhere)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert sentence in " ".join(done.stderr.split()) and "Traceback" not in done.stderr
    assert "secret" not in done.stderr
    made = [path for path in sorted(tmp_path.rglob("*")) if not {"caches", ".quartermaster", ".lock"} & {*path.parts}]
    assert made == before


def test_texts_without_a_feedback_log_are_refused() -> None:
    assert feedback_log(None, False) is None
    with pytest.raises(SettingsInvalid, match="--feedback-texts is given and there is no log"):
        feedback_log(None, True)
