"""keys and tokens, --trusted-keys and signed decisions on the command line."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from pipeline.store.private_keys import read_signer
from quartermaster.serving.profiles import ProfilesFile
from quartermaster.serving.tokens import token_digest
from tests.support.command_line import Run
from tests.support.signing import SignedOffice


@pytest.fixture
def office(tmp_path: Path, snapshot: Path) -> SignedOffice:
    made = SignedOffice(tmp_path, snapshot)
    for name in ("first", "second"):
        made.signed(name)
    made.publish("second")
    os.mkdir(tmp_path / ".quartermaster")
    shutil.move(tmp_path / "snapshots", tmp_path / ".quartermaster" / "snapshots")
    return made


def test_a_key_is_made_shown_and_listed(run: Run, tmp_path: Path) -> None:
    made = run("keys", "generate", "build.pem")
    public = read_signer("build.pem", tmp_path).public
    assert made.returncode == 0 and made.stdout == f"{public.text} {public.key_id}\n"
    assert run("keys", "show", "build.pem").stdout == made.stdout
    assert run("keys", "list", "build.pem.pub").stdout.split() == [public.key_id, public.text, "trusted"]
    again = run("keys", "generate", "build.pem")
    assert again.returncode == 2 and "never overwritten" in again.stderr


def test_a_search_answers_from_what_a_trusted_key_signed(run: Run, office: SignedOffice) -> None:
    search = ("search", "undo a payment", "--catalog", "office")
    assert run(*search, "--trusted-keys", "office.pem.pub").returncode == 0
    assert run(*search, QUARTERMASTER_TRUSTED_KEYS="office.pem.pub").returncode == 0
    run("keys", "generate", "other.pem")
    refused = run(*search, "--trusted-keys", "other.pem.pub")
    assert refused.returncode == 4 and "not signed by a trusted key" in refused.stderr
    empty = run(*search, QUARTERMASTER_TRUSTED_KEYS="")
    assert empty.returncode == 2 and "trusted_keys is []" in empty.stderr
    unnamed = run("search", "undo a payment", "--trusted-keys", "office.pem.pub")
    assert unnamed.returncode == 2 and "name the catalog" in unnamed.stderr


def test_a_snapshot_is_verified_signed_and_rolled_back_by_command(run: Run, office: SignedOffice) -> None:
    folder = ".quartermaster/snapshots/office"
    verified = run("keys", "verify", folder, "--trusted-keys", "office.pem.pub")
    assert verified.returncode == 0 and "second of office is signed" in verified.stdout
    run("keys", "generate", "new.pem")
    assert run("keys", "verify", folder, "--trusted-keys", "new.pem.pub").returncode == 4
    assert run("snapshots", "--sign").returncode == 2
    assert "is signed by the key" in run("snapshots", "--sign", "--sign-key", "new.pem").stderr
    assert run("keys", "verify", folder, "--trusted-keys", "new.pem.pub").returncode == 0
    unsigned = run("snapshots", "--rollback")
    assert unsigned.returncode == 2 and "give --sign-key FILE" in unsigned.stderr
    assert run("snapshots", "--rollback", QUARTERMASTER_PUBLISH__SIGN_KEY="new.pem").returncode == 0
    assert run("keys", "verify", folder, "--trusted-keys", "new.pem.pub").returncode == 0
    rows = {row["snapshot"]: row["signed_by"] for row in json.loads(run("snapshots", "--json").stdout)}
    assert list(map(len, rows.values())) == [2, 2]


def test_the_printed_lines_of_a_token_let_the_printed_token_in(run: Run, tmp_path: Path) -> None:
    done = run("tokens", "new", "bob", "--profile", "support")
    found = re.search(r"stored nowhere: (\S+)", done.stderr)
    assert found is not None and found[1] not in done.stdout
    file = tmp_path / "profiles.toml"
    file.write_text(f"[profiles.support]\nselection = {{}}\n{done.stdout}", encoding="utf-8")
    loaded = ProfilesFile.load(file)
    assert loaded.digests == {token_digest(found[1]): "bob"}
    assert loaded.tokens["bob"].profile == "support"
