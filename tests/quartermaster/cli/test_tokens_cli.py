"""`quartermaster tokens new`: the token is shown once, and the file gets its digest alone."""

import re
from pathlib import Path

from quartermaster.serving.profiles import ProfilesFile
from quartermaster.serving.tokens import token_digest
from tests.support.command_line import called


def test_the_printed_lines_let_the_printed_token_in(tmp_path: Path) -> None:
    done = called(tmp_path, "tokens", "new", "bob", "--profile", "support")
    found = re.search(r"stored nowhere: (\S+)", done.stderr)
    assert found is not None
    file = tmp_path / "profiles.toml"
    file.write_text(f"[profiles.support]\nselection = {{}}\n{done.stdout}", encoding="utf-8")
    loaded = ProfilesFile.load(file)
    assert loaded.digests == {token_digest(found[1]): "bob"}
    assert loaded.tokens["bob"].profile == "support"
    assert found[1] not in done.stdout


def test_a_profile_is_named_where_nobody_has_a_token(tmp_path: Path) -> None:
    for arguments, said in (
        (["--profiles", "p.toml"], "say which of them with --profile NAME"),
        (["--profile", "support"], "name one with --profiles FILE"),
        (["--profiles", "p.toml", "--profile", "support", "--http"], "over HTTP each token"),
    ):
        done = called(tmp_path, "serve", "mcp", *arguments)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
