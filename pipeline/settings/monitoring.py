"""Who hears of a build: a hook that is called, a file of metrics."""

from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from pipeline.settings.access import Headers
from pipeline.settings.base import Section
from pipeline.settings.sources import may_be_web

Event = Literal["held", "quarantined", "failed", "degraded", "stale", "recovered"]
EVENTS: tuple[Event, ...] = get_args(Event)


class NotifySettings(Section):
    """A hook that is called once after a build in which one of `events` happened.

    It is given one JSON object: the `command` on standard input, the `url` as the body of a POST. A hook that fails is
    told, and changes neither the outcome of the build nor its exit code.
    """

    command: tuple[str, ...] | None = None
    """A program and its arguments. It runs in the catalog's folder, without a shell, with the rights of the build."""
    url: str | None = None
    """An address of http or https; `${VARIABLE}` is filled in from the environment."""
    headers: Headers = Field(default_factory=dict)
    """Headers of the request to the `url`; `${VARIABLE}` is filled in from the environment."""
    events: tuple[Event, ...] = EVENTS
    """What the hook is called for. `recovered` is the first good build after another. `quarantined` happens once
    for each tool that is held back alone."""
    timeout_s: float = Field(10.0, gt=0, le=300)
    """Seconds that the command, or the address, may take."""

    @field_validator("command")
    @classmethod
    def _has_a_program(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and not (value and value[0]):
            raise ValueError("it is empty: it holds the program and its arguments")
        return value

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not may_be_web(value):
            raise ValueError("it is no address of http or https")
        return value

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, value: dict[str, SecretStr], info: ValidationInfo) -> dict[str, SecretStr]:
        if value and info.data.get("url", "") is None:
            raise ValueError("they are for a url, and notify.url is not set")
        return value


class MetricsSettings(Section):
    """Figures of the last build for Prometheus. OpenTelemetry is configured by its own variables, `OTEL_*`."""

    textfile: Path | None = None
    """A file that each build writes anew, such as one that node_exporter's textfile collector reads; its name ends with
    `.prom`. Of a folder: `quartermaster_<catalog>.prom` in it."""
