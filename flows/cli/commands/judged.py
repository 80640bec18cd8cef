"""What evaluate and compare share: a folder of judged requests, and the snapshot that is measured on it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from router.errors import SettingsInvalid
from router.evaluation import Judgement, judgements_of, read_judgements


@dataclass(frozen=True, slots=True)
class Bench:
    """A folder in the benchmark's format, or a judged catalog."""

    folder: Path
    name: str
    judgements: Sequence[Judgement]


def read_bench(folder: Path) -> Bench:
    """The judged requests of a folder. Raises SettingsInvalid where it holds none."""
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
    bench: Path, workspace: Path, bars: Any, *, without: bool = False, generator: str | None, encoder: str | None
) -> Path:
    """The folder of a snapshot of the bench, built apart from what serves; `without` leaves out all expansions."""
    from pipeline.build import build
    from pipeline.settings import load, overrides

    settings = load(bench, overrides("none" if without else generator, encoder))
    if without:
        enrichment = settings.enrichment.model_copy(update={"expansions": None})
        settings = settings.model_copy(update={"enrichment": enrichment})
    # It is measured right after: a gate would measure it twice, against an experiment of yesterday.
    publish = settings.publish.model_copy(update={"judged": False})
    # What the judged requests taught they cannot score.
    tuning = settings.tuning.untaught() if settings.taught_by_judgements else settings.tuning
    settings = settings.model_copy(update={"publish": publish, "tuning": tuning})
    return build(settings, workspace=workspace, area="evaluations", progress=bars).snapshot


def printed(result: Mapping[str, Any], file: Path | None) -> bool:
    """Write figures as JSON to a file, or print them where it is "-"; whether they were printed."""
    text = json.dumps(result, indent=2)
    if file == Path("-"):
        print(text)
        return True
    if file is not None:
        file.write_text(text + "\n", encoding="utf-8")
    return False


def writable(option: str, file: Path | None) -> None:
    """Refuse a file that cannot be written before minutes are spent. Raises SettingsInvalid."""
    if file is not None and not file.absolute().parent.is_dir():
        raise SettingsInvalid(f"{option} {file}: its folder does not exist")
    if file is not None and file.is_dir():
        raise SettingsInvalid(f"{option} {file} is a folder: name a file")
