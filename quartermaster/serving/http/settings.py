"""Settings of the HTTP server, checked at construction."""

import ipaddress
import os
from dataclasses import dataclass, fields, replace
from pathlib import Path

from quartermaster.serving.tokens import check_token
from router.errors import SettingsInvalid
from router.selection.settings import MAX_WILDCARDS

# Paths open without a token: a monitoring probe has none, and they reveal nothing of the catalog.
PROBES = ("/healthz", "/readyz")
MAX_WORKERS = 256
# What workers share, with the least that one of them needs.
_SHARED = {"max_connections": 1, "max_connections_per_client": 1, "max_unsent_bytes": 65_536}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The address of the server, and the limits for its clients. Raises SettingsInvalid for a wrong value.

    `port` 0 picks a free one. With a `token`, every path but `/healthz` and `/readyz` requires it. `hosts` are names
    that a request may use as its host, besides those of the address; "*" allows any, which is the default of a server
    with a token that listens beyond loopback. `insecure` permits listening there without a token: whoever reaches the
    port then reads the catalog. `requests_per_minute` applies to each client address, of which a tenth may come at
    once; None sets no limit. `max_concurrent` requests are answered at a time. `overlay` opens the paths that register
    and remove tools, which need a token, and is the file that stores them. `profiles` is a file of profiles and tokens,
    in place of `token`: each token sees the tools of its profile alone.

    `max_connections` are open at a time, and `max_connections_per_client` of one address (an IPv6 network of /64); at
    the limit, one that waits for a request is closed for a new one. In seconds: `header_timeout_s` bounds the headers
    of a request, from the connection or its first byte on, `body_timeout_s` its body, `keep_alive_s` the wait for the
    next request, and `answer_timeout_s` the client's reading of an answer. `max_unsent_bytes` bounds the unread answers
    of all clients. Headers have `max_header_bytes` and `max_headers` at most. `max_wildcards` bounds the marks `*`, `?`
    and `[` of one request's selection: each is searched for in the names of all tools.

    `workers` processes share the socket, under `serve_workers`. Each has an equal share of the connections and of the
    unread answers; `requests_per_minute`, those of tokens and `max_concurrent` hold for each worker. At a stop,
    requests under way get `stop_timeout_s`. Where what serves was not found to be the newest snapshot for
    `stale_after_s`, `/readyz` tells so, and with `unready_when_stale` answers 503; None is 300 s, or three looks of
    `watch` where that is longer.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    token: str | None = None
    hosts: tuple[str, ...] = ()
    insecure: bool = False
    overlay: Path | None = None
    profiles: Path | None = None
    max_request_bytes: int = 1_048_576
    requests_per_minute: int | None = 6_000
    max_header_bytes: int = 16_384
    max_headers: int = 100
    max_wildcards: int = 100
    max_concurrent: int = 64
    max_connections: int = 512
    max_connections_per_client: int = 128
    max_unsent_bytes: int = 67_108_864
    header_timeout_s: float = 10.0
    body_timeout_s: float = 10.0
    keep_alive_s: float = 5.0
    answer_timeout_s: float = 60.0
    stop_timeout_s: float = 10.0
    workers: int = 1
    stale_after_s: float | None = None
    unready_when_stale: bool = False

    def __post_init__(self) -> None:
        _check_number("port", self.port, 0, 65_535)
        _check_number("max_request_bytes", self.max_request_bytes, 1_024, 67_108_864)
        if self.requests_per_minute is not None:
            _check_number("requests_per_minute", self.requests_per_minute, 1, 1_000_000, "or left out for no limit")
        _check_number("max_header_bytes", self.max_header_bytes, 1_024, 1_048_576)
        _check_number("max_headers", self.max_headers, 10, 10_000)
        _check_number("max_wildcards", self.max_wildcards, 0, MAX_WILDCARDS)
        _check_number("max_concurrent", self.max_concurrent, 1, 10_000)
        _check_number("max_connections", self.max_connections, 1, 1_000_000)
        _check_number("max_connections_per_client", self.max_connections_per_client, 1, 1_000_000)
        _check_number("max_unsent_bytes", self.max_unsent_bytes, _SHARED["max_unsent_bytes"], 2**40)
        for name in ("header_timeout_s", "body_timeout_s", "keep_alive_s", "answer_timeout_s"):
            _check_number(name, getattr(self, name), 0.1, 3_600)
        _check_number("stop_timeout_s", self.stop_timeout_s, 0, 3_600)
        _check_number("workers", self.workers, 1, MAX_WORKERS)
        for name in _SHARED:
            if getattr(self, name) < self.workers * _SHARED[name]:
                raise SettingsInvalid(
                    f"{name} is {getattr(self, name):,}: {self.workers} workers share it, so it must be "
                    f"{self.workers * _SHARED[name]:,} or more"
                )
        if self.stale_after_s is not None:
            _check_number("stale_after_s", self.stale_after_s, 1, 31_536_000, "or left out for 300")
        if not self.host or self.host != self.host.strip():
            raise SettingsInvalid(f"host is {self.host!r}, it must be a name or an address to listen at")
        if self.token is not None:
            check_token("token", self.token)
        if self.token is not None and self.profiles is not None:
            raise SettingsInvalid(
                f"profiles is {str(self.profiles)!r} and there is a token: with profiles, every token stands in that "
                "file; unset QUARTERMASTER_TOKEN"
            )
        if not self.asks_for_token and not self.loopback and not self.insecure:
            raise SettingsInvalid(
                f"host is {self.host!r}, which others can reach, and there is no token: set QUARTERMASTER_TOKEN, "
                "listen at 127.0.0.1, or say --insecure where the network itself keeps others out"
            )
        if self.overlay is not None and not self.asks_for_token:
            raise SettingsInvalid(
                f"overlay is {str(self.overlay)!r} and there is no token: only clients with a token may register tools"
            )
        if self.overlay is not None and not os.access(self.overlay.parent, os.W_OK):
            raise SettingsInvalid(f"overlay is {str(self.overlay)!r}, its folder must be there and writable")
        if self.overlay is not None and self.workers > 1:
            raise SettingsInvalid(
                f"overlay is {str(self.overlay)!r} and workers is {self.workers}: a tool is registered in one process "
                "alone, so serve with --workers 1, or publish the tools with a build"
            )

    def __repr__(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["token"] = None if self.token is None else "…"
        return f"HttpSettings({', '.join(f'{name}={value!r}' for name, value in values.items())})"

    def of_one_worker(self) -> "HttpSettings":
        """Return the settings of one of the workers: an equal share of the connections and of the unread answers."""
        shares = {name: getattr(self, name) // self.workers for name in _SHARED}
        return replace(self, workers=1, **shares)

    @property
    def asks_for_token(self) -> bool:
        """Return whether a request needs a token."""
        return self.token is not None or self.profiles is not None

    @property
    def loopback(self) -> bool:
        """Return whether only this machine can reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def known_hosts(self) -> frozenset[str]:
        """Return the names that a request may use as its host, in lower case; "*" among them allows any.

        This prevents DNS rebinding: a page from elsewhere could point its own name here, and then read answers.
        """
        named = {host.lower() for host in self.hosts}
        if not self.loopback and not named and self.asks_for_token:
            return frozenset(("*",))
        return frozenset((*named, *_LOOPBACK, self.host.lower()))


def _check_number(name: str, value: object, least: float, most: float, otherwise: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        allowed = f"from {least:,} to {most:,}" + (f", {otherwise}" if otherwise else "")
        raise SettingsInvalid(f"{name} is {value!r}, it must be {allowed}")
