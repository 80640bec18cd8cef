"""Queries with qrels for evaluate and compare, the snapshots that are measured on them, and what two encoders cost."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quartermaster.evaluation import Judgement, judgements_of, read_judgements
from router.errors import SettingsInvalid

if TYPE_CHECKING:
    from pipeline.encoders.export import Export
    from pipeline.settings import CatalogSettings
    from pipeline.vectors import EncoderModel

# A store for each encoder, so that neither build compares itself with the other, or with an evaluation before.
_AREAS = ("evaluations-this", "evaluations-that")


@dataclass(frozen=True, slots=True)
class Bench:
    """A folder of queries with qrels: in the benchmark's format, or a catalog with judgements."""

    folder: Path
    name: str
    judgements: Sequence[Judgement]


@dataclass(frozen=True, slots=True)
class BuiltEncoder:
    """One of two encoders, None for no vectors, and the snapshot that was built with it."""

    settings: "CatalogSettings"
    model: "EncoderModel | None"
    snapshot: Path


def read_bench(folder: Path) -> Bench:
    """Read the queries with qrels of a folder. Raises SettingsInvalid if it has none."""
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
    return _build_apart(_settings(bench, expansions, generator, encoder), workspace, bars, "evaluations")


def build_both(
    bench: Path,
    workspace: Path,
    bars: Any,
    encoders: tuple[str | None, str],
    *,
    expansions: bool,
    generator: str | None,
) -> tuple[BuiltEncoder, BuiltEncoder]:
    """Build a bench with both encoders, None for the one that its settings name; all that is learned is learned anew.

    The builds share the ledger: a phrase is paid once, and a text embedded once by each encoder. Raises SettingsInvalid
    where both are the same encoder, before anything is built.
    """
    from pipeline import vectors
    from pipeline.build.reading import encoder_serving
    from pipeline.build_state import serving_folder
    from pipeline.store import SnapshotStore

    sides = []
    for encoder in encoders:
        settings = _settings(bench, expansions, generator, encoder)
        # Neither reuses what was learned, leaves out a tool, or keeps old snapshots.
        tuning = settings.tuning.model_copy(update={"max_stale_share": 0.0})
        publish = settings.publish.model_copy(update={"quarantine": False, "keep": 1})
        settings = settings.model_copy(update={"tuning": tuning, "publish": publish})
        bars.start("resolve", None)
        serving = encoder_serving(serving_folder(SnapshotStore(workspace, settings.name)), bars.note)
        sides.append((settings, vectors.resolve_encoder(settings.vectors, bars, serving)))
    first, second = (model and (model.revision, model.query_prefix, model.document_prefix) for _, model in sides)
    if first == second:
        model = sides[0][1]
        same = f"{model.name}, revision {model.revision}" if model else "none"
        raise SettingsInvalid(f"--encoder and --against-encoder are the same encoder here: {same}")
    built = []
    for (settings, model), area in zip(sides, _AREAS, strict=True):
        bars.note(f"building {settings.name} with the encoder {model.name if model else 'none'}")
        built.append(BuiltEncoder(settings, model, _build_apart(settings, workspace, bars, area)))
    return built[0], built[1]


def encoder_costs(built: tuple[BuiltEncoder, BuiltEncoder], bench: Bench, workspace: Path, bars: Any) -> list[Any]:
    """Return what both encoders cost, as JSON: see `pipeline.vectors.cost`."""
    from pipeline.inspection.served_tools import served_texts
    from pipeline.vectors import ReferenceEncoder, export_encoder, user_cache
    from pipeline.vectors.cost import measure_costs

    bars.start("time", None)

    def export_of(one: BuiltEncoder) -> "Export | None":
        if one.model is None:
            return None
        reference = ReferenceEncoder(one.model, one.settings.vectors.batch_size)
        cache = user_cache(one.model, workspace, bars)
        return export_encoder(one.model, one.settings.vectors.precision, reference, cache)

    costs = measure_costs(
        [one.snapshot for one in built],
        [export_of(one) for one in built],
        [judgement.request for judgement in bench.judgements],
        [[tool.texts[-1] for tool in served_texts(one.snapshot).values()] for one in built],
        built[0].settings.vectors.batch_size,
    )
    return [cost.to_json() for cost in costs]


def _settings(bench: Path, expansions: bool, generator: str | None, encoder: str | None) -> "CatalogSettings":
    """Return the settings to build a bench with, to be measured; `encoder` and `generator` are as in `build`."""
    from pipeline.settings import load, overrides
    from quartermaster.cli.commands.options import require_model
    from quartermaster.cli.commands.sources import permit

    settings = load(bench, overrides(generator if expansions else "none", encoder))
    require_model(generator if expansions else None, settings.enrichment)
    permit(settings, allow=False)
    if not expansions:
        settings = settings.model_copy(
            update={"enrichment": settings.enrichment.model_copy(update={"expansions": None})}
        )
    # The caller measures it; the gate would measure it again, and compare it with an older experiment.
    publish = settings.publish.model_copy(update={"judged": False})
    # A snapshot that learned from the queries with qrels must not be measured on them.
    tuning = settings.tuning.untaught() if settings.taught_by_judgements else settings.tuning
    return settings.model_copy(update={"publish": publish, "tuning": tuning})


def _build_apart(settings: "CatalogSettings", workspace: Path, bars: Any, area: str) -> Path:
    """Build a snapshot into a separate store of the workspace, and return its folder."""
    from pipeline.build import build
    from pipeline.store import SnapshotStore

    store = SnapshotStore(workspace, settings.name, area)
    return build(settings, workspace=workspace, area="evaluations", store=store, progress=bars).snapshot


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
