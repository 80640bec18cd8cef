"""Settings of the HTTP server, checked at construction."""

import os
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import asdict, replace

from quartermaster.addresses import is_this_machine
from quartermaster.serving.tokens import check_token
from router.errors import SettingsInvalid
from router.selection.settings import MAX_WILDCARDS
from router.typed import check_fields

# Paths open without a token: a monitoring probe has none, and they reveal nothing of the catalog.
PROBES = ("/healthz", "/readyz")
MAX_WORKERS = 256
# What workers share, with the least that one of them needs.
_SHARED = {"max_connections": 1, "max_connections_per_client": 1, "max_unsent_bytes": 65_536}
_Seconds = Annotated[float, Meta(ge=0.1, le=3_600)]
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_STALE_AFTER_S = 300.0
_LOOKS = 3  # a snapshot is not stale because one look or two have failed


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the server, and the limits for its clients. Raises SettingsInvalid for a wrong value.

    `port` 0 picks a free one. With a `token`, every path but `/healthz` and `/readyz` requires it. `hosts` are names
    that a request may use as its host, besides those of the address; "*" allows any, which is the default of a server
    with a token that listens beyond loopback. `insecure` permits listening there without a token: whoever reaches the
    port then reads the catalog. `requests_per_minute` applies to each client address, of which a tenth may come at
    once; None sets no limit. `max_concurrent` requests are answered at a time. `overlay` opens the paths that register
    and remove tools, which need a token, and is the file that stores them. `profiles` is a file of profiles and tokens,
    in place of `token`: each token sees only the tools of its profile. `suggestions` is a file to which the pages add
    phrases that visitors suggest, for a person to review.

    `max_connections` are open at a time, and `max_connections_per_client` of one address (an IPv6 network of /64); at
    the limit, one that waits for a request is closed for a new one. In seconds: `header_timeout_s` bounds the headers
    of a request, from the connection or its first byte on, `body_timeout_s` its body, `keep_alive_s` the wait for the
    next request, and `answer_timeout_s` the client's reading of an answer. `max_unsent_bytes` bounds the unread answers
    of all clients. Headers have `max_header_bytes` and `max_headers` at most. `max_wildcards` bounds the marks `*`, `?`
    and `[` of one request's selection: each is searched for in the names of all tools.

    `workers` processes share the socket, under `serve_workers`. Each has an equal share of the connections and of the
    unread answers; `requests_per_minute`, those of tokens and `max_concurrent` hold for each worker. At a stop,
    requests under way get `stop_timeout_s`. Where what serves was not found to be the newest snapshot for
    `stale_after_s`, `/readyz` says so, and with `unready_when_stale` answers 503; None is 300 s, or three looks of
    `watch` where that is longer.
    """

    host: Annotated[str, Meta(pattern=r"^\S")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8080
    token: str | None = None
    hosts: tuple[str, ...] = ()
    insecure: bool = False
    overlay: Path | None = None
    profiles: Path | None = None
    suggestions: Path | None = None
    max_request_bytes: Annotated[int, Meta(ge=1_024, le=67_108_864)] = 1_048_576
    requests_per_minute: Annotated[int, Meta(ge=1, le=1_000_000)] | None = 6_000
    max_header_bytes: Annotated[int, Meta(ge=1_024, le=1_048_576)] = 16_384
    max_headers: Annotated[int, Meta(ge=10, le=10_000)] = 100
    max_wildcards: Annotated[int, Meta(ge=0, le=MAX_WILDCARDS)] = 100
    max_concurrent: Annotated[int, Meta(ge=1, le=10_000)] = 64
    max_connections: Annotated[int, Meta(ge=1, le=1_000_000)] = 512
    max_connections_per_client: Annotated[int, Meta(ge=1, le=1_000_000)] = 128
    max_unsent_bytes: Annotated[int, Meta(ge=_SHARED["max_unsent_bytes"], le=2**40)] = 67_108_864
    header_timeout_s: _Seconds = 10.0
    body_timeout_s: _Seconds = 10.0
    keep_alive_s: _Seconds = 5.0
    answer_timeout_s: _Seconds = 60.0
    stop_timeout_s: Annotated[float, Meta(ge=0, le=3_600)] = 10.0
    workers: Annotated[int, Meta(ge=1, le=MAX_WORKERS)] = 1
    stale_after_s: Annotated[float, Meta(ge=1, le=31_536_000)] | None = None
    unready_when_stale: bool = False

    def __post_init__(self) -> None:
        check_fields(self, "")
        for name, least in _SHARED.items():
            if (value := getattr(self, name)) < self.workers * least:
                share = f"{self.workers} workers share it, so it must be {self.workers * least:,} or more"
                raise SettingsInvalid(f"{name} is {value:,}: {share}")
        if self.token is not None:
            check_token("token", self.token)
            if self.profiles is not None:
                raise SettingsInvalid(
                    f"profiles is {str(self.profiles)!r} and there is a token: with profiles, every token stands in "
                    "that file; unset QUARTERMASTER_TOKEN"
                )
        if not (self.asks_for_token or self.loopback or self.insecure):
            raise SettingsInvalid(
                f"host is {self.host!r}, which others can reach, and there is no token: set QUARTERMASTER_TOKEN, "
                "listen at 127.0.0.1, or say --insecure where the network itself keeps others out"
            )
        for name in ("overlay", "suggestions"):
            if (file := getattr(self, name)) is not None and not os.access(file.parent, os.W_OK):
                raise SettingsInvalid(f"{name} is {str(file)!r}, its folder must be there and writable")
        if self.overlay is not None:
            self._check_overlay(self.overlay)

    def _check_overlay(self, overlay: Path) -> None:
        place = f"overlay is {str(overlay)!r}"
        if not self.asks_for_token:
            raise SettingsInvalid(f"{place} and there is no token: only clients with a token may register tools")
        if self.workers > 1:
            raise SettingsInvalid(
                f"{place} and workers is {self.workers}: a tool is registered in only one process, so serve with "
                "--workers 1, or publish the tools with a build"
            )

    def __repr__(self) -> str:
        values = {**asdict(self), "token": None if self.token is None else "…"}
        return f"HttpSettings({', '.join(f'{name}={value!r}' for name, value in values.items())})"

    def of_one_worker(self) -> "HttpSettings":
        """Return the settings of one of the workers: an equal share of the connections and of the unread answers."""
        shares = {name: getattr(self, name) // self.workers for name in _SHARED}
        return replace(self, workers=1, **shares)

    def stale_after(self, watch_s: float) -> float:
        """Return after how many seconds without a look that found the newest snapshot serving, it counts as stale."""
        return self.stale_after_s or max(_STALE_AFTER_S, _LOOKS * watch_s)

    @property
    def asks_for_token(self) -> bool:
        """Return whether a request needs a token."""
        return self.token is not None or self.profiles is not None

    @property
    def loopback(self) -> bool:
        """Return whether only this machine can reach the address."""
        return is_this_machine(self.host)

    @property
    def known_hosts(self) -> frozenset[str]:
        """Return the names that a request may use as its host, in lower case; "*" among them allows any.

        This prevents DNS rebinding: a page from elsewhere could point its own name here, and then read answers.
        """
        named = {host.lower() for host in self.hosts}
        if not self.loopback and not named and self.asks_for_token:
            return frozenset(("*",))
        return frozenset((*named, *_LOOPBACK, self.host.lower()))
