"""train: an encoder of several catalogs and files of requests."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quartermaster.cli.commands.options import WORKSPACE, FiguresFile, Workspace
from quartermaster.output.terminal import ProgressBars, print_err
from router.errors import SettingsInvalid

if TYPE_CHECKING:
    from pipeline.progress import Progress
    from quartermaster.training import LabelledRequests, TrainingPlan


def train(
    catalogs: Annotated[list[Path], typer.Argument(help="Snapshots or catalogs, each by its folder.")],
    out: Annotated[Path, "The folder of the trained encoder, which must not exist yet."],
    requests: Annotated[list[Path] | None, "A JSONL file of requests with the ids of their tools; repeatable."] = None,
    judged: Annotated[bool, "Learn from the catalogs' queries with qrels, which then cannot measure it."] = False,
    base: Annotated[str, "The encoder to train, as --encoder of build."] = "auto",
    rank: Annotated[int, typer.Option(min=0, help="Rank of the low-rank deltas; 0 trains all weights.")] = 16,
    rate: Annotated[
        float | None, typer.Option(min=1e-8, help="The highest learning rate; by default .001, or 2e-5 with --rank 0.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="How often the requests are read.")] = 3,
    steps: Annotated[int, typer.Option(min=1, help="The most steps.")] = 2_000,
    share: Annotated[
        float,
        typer.Option(min=0.05, max=1.0, help="How far to go from the base: less finds more in what it never saw."),
    ] = 0.6,
    seed: Annotated[int, "Draws held-back providers, batches and the deltas' first numbers."] = 0,
    workspace: Workspace = WORKSPACE,
    json_file: FiguresFile = None,
) -> None:
    """Train an encoder on catalogs and requests. Elsewhere, `vectors.encoder` names it.

    It learns from the phrases written for tools, and from requests whose tools are known. Every tenth request is held
    back, by whole providers: half of these tell when to stop, the others what it gained. The folder is written if they
    gained beyond chance. A training that was killed goes on from its last check when it is started again.

    Exit codes: 0 written; 1 not written, because nothing was gained.
    """
    from pipeline.settings import VectorSettings
    from pipeline.vectors import resolve_encoder
    from quartermaster.cli.commands.benches import check_writable, write_figures
    from quartermaster.output.comparison import show_gain
    from quartermaster.training import TrainingPlan, train_encoder

    check_writable("--json", json_file)
    if out.exists():
        raise SettingsInvalid(f"--out {out} exists: name a new folder")
    if base == "none":
        raise SettingsInvalid("--base none: name an encoder to train")
    rate = (1e-3 if rank else 2e-5) if rate is None else rate
    plan = TrainingPlan(rank, rate, epochs=epochs, most_steps=steps, share=share, seed=seed)
    with ProgressBars() as bars:
        found = _read(catalogs, requests or [], judged, seed, workspace, bars)
        model = resolve_encoder(VectorSettings(encoder=base), bars)
        assert model is not None  # only "none" is no encoder
        trained_from = _shown_path(Path(base)) if Path(base).is_dir() else model.name
        command = _command(catalogs, requests or [], judged, trained_from, plan, out)
        report = train_encoder(model, found, plan, out.absolute(), bars, command)
    if not write_figures(report.to_json(), json_file):
        show_gain(report)
    if not report.is_gain:
        print_err(f"{out} was not written: what held-back requests gained may be chance")
        raise typer.Exit(1)


def _command(
    catalogs: list[Path], requests: list[Path], judged: bool, base: str, plan: "TrainingPlan", out: Path
) -> str:
    """Return the command of a training for its card: all that its result depends on, without this machine's paths."""
    words = ["quartermaster", "train", *map(_shown_path, catalogs)]
    words += [word for file in requests for word in ("--requests", _shown_path(file))]
    words += ["--judged"] if judged else []
    options = {"base": base, "rank": plan.rank, "rate": f"{plan.rate:g}", "epochs": plan.epochs}
    options |= {"steps": plan.most_steps, "share": f"{plan.share:g}", "seed": plan.seed, "out": out.name}
    return shlex.join([*words, *(word for name, value in options.items() for word in (f"--{name}", str(value)))])


def _shown_path(path: Path) -> str:
    """Return a path from the current folder; of one that lies elsewhere, its last part."""
    here, absolute = Path.cwd(), path.resolve()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else absolute.name


def _read(
    catalogs: list[Path], files: list[Path], judged: bool, seed: int, workspace: Path, bars: "Progress"
) -> "LabelledRequests":
    """Return the pairs of catalogs and files, and note what could not be used."""
    from quartermaster.evaluation import judgements_of
    from quartermaster.training import pairs_of_catalogs, read_requests

    snapshots = [(_snapshot(folder, workspace, bars), judgements_of(folder) if judged else None) for folder in catalogs]
    requests: list[tuple[str, Sequence[str]]] = []
    for file in files:
        read = read_requests(file)
        requests.extend(read.requests)
        if read.rejected:
            bars.note(f"{len(read.rejected)} rows of {file} were not used, the first: {read.rejected[0]}")
    bars.start("read", None)
    found = pairs_of_catalogs(snapshots, requests, seed)
    if found.unknown:
        bars.note(f"{found.unknown:,} tools of requests are in no catalog: their pairs were left out")
    return found


def _snapshot(folder: Path, workspace: Path, bars: Any) -> Path:
    """Return the snapshot of a folder: of its own, or built of a catalog without vectors, apart from what serves."""
    from pipeline.build import build
    from pipeline.settings import load, overrides
    from quartermaster.cli.commands.sources import permit
    from router.contract import CURRENT, MANIFEST

    if (folder / MANIFEST).is_file() or (folder / CURRENT).is_file():
        return folder
    settings = load(folder, overrides(None, "none"))
    permit(settings, allow=False)
    publish = settings.publish.model_copy(update={"judged": False})
    settings = settings.model_copy(update={"publish": publish, "tuning": settings.tuning.untaught()})
    return build(settings, workspace=workspace, area="training", progress=bars).snapshot
