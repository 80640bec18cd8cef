"""Judged requests for evaluate and compare, and the snapshot that is measured on them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from quartermaster.evaluation import Judgement, judgements_of, read_judgements
from router.errors import SettingsInvalid

if TYPE_CHECKING:
    from pipeline.settings import CatalogSettings


class BuildOptions(TypedDict):
    """How a bench is built: with its expansions or without, and by which generator."""

    expansions: bool
    generator: str | None


@dataclass(frozen=True, slots=True)
class Bench:
    """A folder with judged requests: in the benchmark's format, or a catalog with judgements."""

    folder: Path
    name: str
    judgements: Sequence[Judgement]


def read_bench(folder: Path) -> Bench:
    """Read the judged requests of a folder. Raises SettingsInvalid if it has none."""
    if folder.is_file():
        raise SettingsInvalid(f"--bench {folder} is a file: name its folder")
    file = judgements_of(folder)
    if file is None:
        raise SettingsInvalid(f"{folder} holds neither queries.jsonl nor judgements.jsonl")
    judgements = read_judgements(file)
    if not judgements:
        raise SettingsInvalid(f"{file} contains no requests")
    return Bench(folder, folder.resolve().name, judgements)


def build_bench(
    bench: Path, workspace: Path, bars: Any, *, expansions: bool = True, generator: str | None, encoder: str | None
) -> Path:
    """Build a snapshot of a bench apart from the serving ones, and return its folder. `bars` shows the progress."""
    settings = bench_settings(bench, expansions=expansions, generator=generator, encoder=encoder)
    return build_apart(settings, workspace, bars)


def bench_settings(
    bench: Path, *, expansions: bool = True, generator: str | None, encoder: str | None
) -> "CatalogSettings":
    """Return the settings to build a bench with, to be measured; `encoder` and `generator` are as in `build`."""
    from pipeline.settings import load, overrides

    settings = load(bench, overrides(generator if expansions else "none", encoder))
    if not expansions:
        settings = settings.model_copy(
            update={"enrichment": settings.enrichment.model_copy(update={"expansions": None})}
        )
    # The caller measures it; the gate would measure it again, and compare it with an older experiment.
    publish = settings.publish.model_copy(update={"judged": False})
    # A snapshot that learned from the judged requests must not be measured on them.
    tuning = settings.tuning.untaught() if settings.taught_by_judgements else settings.tuning
    return settings.model_copy(update={"publish": publish, "tuning": tuning})


def build_apart(settings: "CatalogSettings", workspace: Path, bars: Any, store: str = "evaluations") -> Path:
    """Build a snapshot apart from the serving ones, and return its folder. `bars` shows the progress.

    `store` is the folder of the workspace that its store lies in.
    """
    from pipeline.build import build
    from pipeline.store import SnapshotStore

    of_bench = SnapshotStore(workspace, settings.name, store)
    return build(settings, workspace=workspace, area="evaluations", store=of_bench, progress=bars).snapshot


def write_figures(result: Mapping[str, Any], file: Path | None) -> bool:
    """Write figures as JSON to a file, or print them if it is "-"; return whether they were printed."""
    text = json.dumps(result, indent=2)
    if file == Path("-"):
        print(text)
        return True
    if file is not None:
        file.write_text(text + "\n", encoding="utf-8")
    return False


def check_writable(option: str, file: Path | None) -> None:
    """Raise SettingsInvalid if a file cannot be written, before minutes are spent on its contents."""
    if file is not None and not file.absolute().parent.is_dir():
        raise SettingsInvalid(f"{option} {file}: its folder does not exist")
    if file is not None and file.is_dir():
        raise SettingsInvalid(f"{option} {file} is a folder: name a file")
