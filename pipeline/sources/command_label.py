"""Say what a command runs, without what may be secret in it: the package, the module, the script, the image."""

import re
from collections.abc import Sequence
from pathlib import PurePath, PureWindowsPath

_RUNNERS = frozenset("npx bunx pnpx npm pnpm yarn bun uvx uv pipx docker podman nerdctl".split())
_RUNNERS_WORDS = frozenset("container dlx exec run tool x".split())
# The options of runners without a value: any other takes a value, which may be secret.
_ALONE = frozenset(
    "-y --yes --no -q --quiet --verbose --isolated --offline --no-cache --refresh --upgrade --bun -s --silent --frozen "
    "--locked --no-project --no-sync -d --detach --init -i --interactive -it -ti --no-healthcheck --privileged -P "
    "--publish-all --read-only --rm --sig-proxy -t --tty".split()
)
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*|py|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php")
_WITH_VALUE = frozenset("-X -W -r --require --import --loader".split())
# @acme/mail-mcp@1.2, mcp-server-git==1.2, ghcr.io/acme/mail:latest, git+https://acme.example/mail.git
_PACKAGE = re.compile(r"\A(?:@?[\w.:+-]*+/)*+([A-Za-z][\w.-]*?)(?:\.git)?(?:\[[\w,-]*\])?(?:[@=~<>!:].*)?")
# Names that many scripts and folders have.
_PLAIN = frozenset("__main__ app bin build cli dist index lib main mod out run server src start stdio".split())


def label_of_command(command: Sequence[str]) -> str:
    """Return what tells a command from others in messages: `mail-mcp` of `npx -y @acme/mail-mcp`; else its program."""
    words = list(command)
    while words[1:] and (PureWindowsPath(words[0]).stem in ("cmd", "env", "c") or "=" in words[0]):
        del words[0]  # cmd /c npx …, env KEY=… npx …
    program, rest = PureWindowsPath(words[0]).name, iter(words[1:])
    program = re.sub(r"(?i)\.(?:exe|cmd)\Z", "", program)
    runs, interprets = program in _RUNNERS, _INTERPRETER.fullmatch(program)
    for word in rest if runs or interprets else ():
        if interprets and not runs and word in ("-m", "-c", "-e", "--eval"):
            return next(rest, program) if word == "-m" else program
        if word.startswith("-"):
            if word in _WITH_VALUE or (runs and word not in _ALONE and "=" not in word):
                next(rest, None)
        elif word not in _RUNNERS_WORDS and (found := _PACKAGE.fullmatch(word)):
            if _INTERPRETER.fullmatch(word):
                return label_of_command([word, *rest])
            return found[1] if runs and not word.endswith((".py", ".js", ".ts")) else _script(word)
    return program


def _script(path: str) -> str:
    """Return the name of a script; of a plain one, such as index.js, the nearest folder that is not."""
    place = PurePath(path)
    folders = (part for part in reversed(place.parent.parts) if part.strip("./") and part.lower() not in _PLAIN)
    return next(folders, path) if place.stem.lower() in _PLAIN else place.name
