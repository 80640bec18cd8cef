"""What tells a command from others in messages: a package, a module, a script, an image, and nothing that is secret."""

import pytest

from pipeline.settings import SourceSettings
from pipeline.sources.naming import label_of, label_of_command, name_of, subject


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("npx -y @acme/mail-mcp", "mail-mcp"),
        ("npx -y @acme/mail-mcp@1.2 --api-key sk-secret", "mail-mcp"),
        ("npx --registry https://user:sk-secret@r.example/ mail", "mail"),
        ("npx mcp-remote https://h.example/mcp?key=sk-secret", "mcp-remote"),
        ("npx tsx src/mail/index.ts", "mail"),
        ("uvx mail-mcp==1.2", "mail-mcp"),
        ("uvx mail-mcp[http]@latest", "mail-mcp"),
        ("uvx --from git+https://git.example/acme/tools.git@v1 mail", "mail"),
        ("uv run --directory /srv/mail server.py", "server.py"),
        ("uv run python -m mail.server", "mail.server"),
        ("python -m mail.server --key sk-secret", "mail.server"),
        ("python3.12 -X utf8 -u /srv/mail/server.py", "mail"),
        ("python server.py", "server.py"),
        ("python -c print('sk-secret')", "python"),
        ("node dist/index.js", "dist/index.js"),
        ("node /srv/mail/dist/index.js", "mail"),
        ("deno run -A main.ts", "main.ts"),
        ("docker run -i --rm -e TOKEN=sk-secret ghcr.io/acme/mail:1.2 --verbose", "mail"),
        ("docker run --rm -i --mount type=bind,src=/a,dst=/b -e TOKEN acme/mail /b", "mail"),
        ("cmd /c npx -y mail", "mail"),
        (r"C:\nodejs\npx.cmd -y mail", "mail"),
        ("env KEY=sk-secret npx -y mail", "mail"),
        ("mcp-server-git --repository .", "mcp-server-git"),
        ("npx", "npx"),
        ("docker run", "docker"),
        ("docker ps --format sk", "ps"),
    ],
)
def test_a_command_is_called_by_what_it_runs(command: str, label: str) -> None:
    assert label_of_command(command.split(" ")) == label and "secret" not in label


def test_a_source_is_named_by_its_place_and_one_of_a_command_by_its_provider_or_what_it_runs() -> None:
    python = ("python", "-m", "mail")
    for given, name, short in (
        ({"command": python}, "mail", "mail"),
        ({"command": python, "provider": "post"}, "post", "post"),
        ({"path": "api/mail.json", "provider": "post"}, "api/mail.json", "post"),
        ({"path": "api/mail.json"}, "api/mail.json", "mail.json"),
        ({"url": "https://u:p@mail.example/mcp?k=1"}, "https://mail.example/mcp", "mail.example"),
    ):
        source = SourceSettings(**given)
        assert (name_of(source), label_of(source)) == (name, short)
    assert subject(SourceSettings(command=python)) == "the command 'mail'"
