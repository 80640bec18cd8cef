"""Name sources, and what is wrong with them, in messages and origins without arguments, users, queries or secrets."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath, PureWindowsPath
from urllib.parse import SplitResult, parse_qsl, urlsplit, urlunsplit

from pydantic import ValidationError

from pipeline.errors import RunAborted, Unavailable
from pipeline.settings import LimitsSettings, SourceSettings
from quartermaster.validation import describe_requirement

_MAX_SAID = 300
_SHORTEST = 4  # shorter secrets are part of ordinary words
# A terminal's sequences as a whole, then control characters one by one.
_UNPRINTABLE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
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


def location(source: SourceSettings) -> str:
    """Return a source's module, its program, or its URL as written but without user and query."""
    if source.url is None:
        return source.python or (source.command or ("",))[0]
    return urlunsplit(without_user(source.url)._replace(query="", fragment=""))


def without_user(url: str) -> SplitResult:
    """Return the parts of a URL without user and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2])


def name_of(source: SourceSettings) -> str:
    """Return a source's name in messages: its path as written, its URL, or what tells its command from others.

    That is its provider where it has one: many commands are one program's. So is that of a server of a client's file.
    """
    if source.python is not None:
        return source.python
    if source.client or (source.command and source.provider):
        return source.provider or ""
    if source.path is not None:
        return str(source.path)
    return location(source) if source.command is None else label_of_command(source.command)


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


def label_of(source: SourceSettings) -> str:
    """Return a short name for progress and tasks."""
    if source.url is not None and source.provider is None:
        return urlsplit(source.url).hostname or "url"
    return source.provider or Path(name_of(source)).name


def origin_of(source: SourceSettings) -> str:
    """Return the file that the origins of a source's tools name: a path below the catalog's folder, else a name."""
    if source.path is None:
        return location(source)
    return source.path.name if source.path.is_absolute() else source.path.as_posix()


def subject(source: SourceSettings) -> str:
    """Return the source as the subject of a sentence."""
    kind = "Python source" if source.python else "url" if source.command is None else "command"
    return f"the {kind} {name_of(source)!r}"


def redacted(text: str, source: SourceSettings, secrets: Iterable[str] = ()) -> str:
    """Return the output of a program or server as one short line, without control characters or secrets.

    `secrets` are those beside the source's own: the values that the environment filled in.
    """
    hidden = [*secrets, *(() if source.python else source.command or ())[1:], *secrets_of(source.url or "")]
    hidden += [value for secret in hidden if (value := secret.partition("=")[2])]
    for secret in sorted(hidden, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "…")
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= _MAX_SAID else f"{text[:_MAX_SAID]}…"


def secrets_of(url: str) -> list[str]:
    """Return the parts of a URL that may be secrets: user, password, query and fragment."""
    parts = urlsplit(url)
    values = [value for _, value in parse_qsl(parts.query)]
    return [parts.username or "", parts.password or "", parts.query, parts.fragment, *values]


def too_large(source: SourceSettings, limits: LimitsSettings) -> RunAborted:
    """Return the error for a document that is larger than the limit."""
    return RunAborted(f"{subject(source)} gave more than the {limits.document_bytes:,} bytes of limits.document_bytes")


def too_late(source: SourceSettings) -> Unavailable:
    """Return the error for a source that takes too long."""
    return Unavailable(f"{subject(source)} took more than the {source.timeout_s:g} s that timeout_s allows")


def wrong_field(error: ValidationError, inside: int = 0) -> str:
    """Return the first field of an answer that is wrong, and what it must be, without a validator's own words.

    `inside` is how many steps into the answer what is spoken of lies.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"][inside:])) or "it"
    return f"{field} {describe_requirement(first['type'], first.get('ctx'), table='an object')}"
