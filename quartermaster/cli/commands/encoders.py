"""Two encoders for evaluate: the same bench built with each, and what each costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quartermaster.cli.commands.benches import Bench, bench_settings, build_apart
from router.errors import SettingsInvalid

if TYPE_CHECKING:
    from pipeline.encoders.export import Export
    from pipeline.settings import CatalogSettings
    from pipeline.vectors import EncoderModel

# A store for each, so that neither build compares itself with the other, or with an evaluation before.
_AREAS = ("evaluations-this", "evaluations-that")


@dataclass(frozen=True)
class BuiltEncoder:
    """One of the two encoders, None for no vectors, and the snapshot that was built with it."""

    settings: "CatalogSettings"
    model: "EncoderModel | None"
    snapshot: Path


def refuse_with_encoders(options: Mapping[str, object]) -> None:
    """Raise SettingsInvalid if one of these options, by name, has a value: --against-encoder takes their place."""
    given = " and ".join(option for option, value in options.items() if value is not None)
    if given:
        raise SettingsInvalid(
            f"--against-encoder builds both sides and asks both by one recipe: leave out {given}, or leave out "
            "--against-encoder to compare snapshots or recipes"
        )


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

    sides = []
    for encoder in encoders:
        settings = _learning_anew(bench_settings(bench, expansions=expansions, generator=generator, encoder=encoder))
        bars.start("resolve", None)
        sides.append((settings, vectors.resolve_encoder(settings.vectors, bars)))
    first, second = (model and (model.key, model.query_prefix) for _, model in sides)
    if first == second:
        model = sides[0][1]
        same = f"{model.name}, revision {model.revision}" if model else "none"
        raise SettingsInvalid(f"--encoder and --against-encoder are the same encoder here: {same}")
    built = []
    for (settings, model), area in zip(sides, _AREAS, strict=True):
        bars.note(f"building {settings.name} with the encoder {model.name if model else 'none'}")
        built.append(BuiltEncoder(settings, model, build_apart(settings, workspace, bars, area)))
    return built[0], built[1]


def encoder_costs(built: tuple[BuiltEncoder, BuiltEncoder], bench: Bench, workspace: Path, bars: Any) -> list[Any]:
    """Return what both encoders cost, as JSON: see `pipeline.vectors.cost`."""
    from pipeline.execution import DirectExecution
    from pipeline.inspection.served_tools import served_texts
    from pipeline.vectors import EncoderExports, user_cache
    from pipeline.vectors.cost import measure_costs

    bars.start("time", None)

    def export_of(one: BuiltEncoder) -> "Export | None":
        if one.model is None:
            return None
        cache = user_cache(one.model, workspace, bars)
        return EncoderExports(one.settings.vectors, one.model, DirectExecution(), cache).of_tools()

    costs = measure_costs(
        [one.snapshot for one in built],
        [export_of(one) for one in built],
        [judgement.request for judgement in bench.judgements],
        [[tool.texts[-1] for tool in served_texts(one.snapshot).values()] for one in built],
        built[0].settings.vectors.batch_size,
    )
    return [cost.to_json() for cost in costs]


def _learning_anew(settings: "CatalogSettings") -> "CatalogSettings":
    """Return settings whose build reuses nothing that was learned, leaves out no tool, and keeps no old snapshots."""
    tuning = settings.tuning.model_copy(update={"max_stale_share": 0.0})
    publish = settings.publish.model_copy(update={"quarantine": False, "keep": 1})
    return settings.model_copy(update={"tuning": tuning, "publish": publish})
