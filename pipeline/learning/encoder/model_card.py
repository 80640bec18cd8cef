"""The model card of a delta: what it is, of which data and by which plan it was made, how well it does, its limits."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.encoders.delta import DELTA_FILE, DeltaHeader
from pipeline.encoders.export import EncoderModel
from pipeline.learning.encoder.card import CARD

MODEL_CARD = "README.md"

_LICENCE = re.compile(r"^license:[ \t]*([\w.+-]{1,40})[ \t]*$", re.MULTILINE)
_FRONT_MATTER = 4096  # characters of the base's card that are looked through
_LIMITS = (
    "It was made to find tools by requests. Nothing was measured of other uses.",
    "The figures are of requests that it was not trained on, from the same catalogs. On others it may gain less, or "
    "nothing: compare it with its base on your own requests.",
    "It knows the languages of its base and of its data, and no others.",
    "Over any other base it is refused: the same numbers mean nothing there.",
)


def write_model_card(folder: Path, name: str, header: DeltaHeader, base: EncoderModel, card: Mapping[str, Any]) -> None:
    """Write the model card of the delta `name` into its folder, generated from the figures of `card`."""
    size = (folder / DELTA_FILE).stat().st_size
    lines = [
        f"# {_plain(name)}",
        "",
        f"A low-rank delta of rank {header.rank}, {size / 1e6:.1f} MB, over the sentence encoder {_plain(header.base)}."
        f" Name this folder as `vectors.encoder`. `{CARD}` has its figures as data.",
        "",
        "## Base",
        "",
        f"- {_plain(header.base)}, whose weights have the sha256 `{header.base_weights}`",
        f"- licence: {_licence(base.folder)}",
        *_data(card.get("data")),
        *_training(card),
        *_figures(card),
        "",
        "## Limits",
        "",
        *(f"- {limit}" for limit in _LIMITS),
    ]
    (folder / MODEL_CARD).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _data(data: Any) -> Iterator[str]:
    if not isinstance(data, dict):
        return
    yield from ("", "## Data", "")
    catalogs = ", ".join(_plain(name) for name in data.get("catalogs", ()))
    yield f"- {data.get('pairs', 0):,} requests and {data.get('tools', 0):,} tools of {catalogs}"
    yield f"- {data.get('held_out', 0):,} requests of {data.get('held_back_providers', 0):,} providers were held back"
    yield "- licences: those of the catalogs and of the files of requests"


def _training(card: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "## Training", "")
    if command := card.get("command"):
        yield f"    {' '.join(str(command).split())}"
        yield ""
    if isinstance(plan := card.get("plan"), dict):
        yield f"- plan: `{_plain(json.dumps(plan, sort_keys=True))}`"
    yield f"- {card.get('steps', 0):,} steps until the best check"
    versions = card.get("versions", {})
    yield f"- {', '.join(f'{package} {version}' for package, version in sorted(versions.items()))}"


def _figures(card: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "## Figures", "")
    if isinstance(gain := card.get("gain"), dict):
        yield "Mean reciprocal rank (MRR) of the tools of requests that were held back, with 95 % intervals."
        yield ""
        yield "| catalog | requests | MRR before | MRR after | difference | p |"
        yield "|---|---|---|---|---|---|"
        for row in gain["rows"]:
            yield _row(row)
        before, after = gain["mistaken"]
        yield ""
        yield f"The chance that an everyday request scores as high as one of these: {before} before, {after} after."
    else:
        names = ("judged", "mrr_before", "mrr_after", "p", "mistaken_before", "mistaken_after", "mistaken_p")
        yield from (f"- {name}: {card[name]}" for name in names if name in card)


def _row(row: Mapping[str, Any]) -> str:
    difference = row["difference"]
    cells = [_plain(row["catalog"]), f"{row['requests']:,}"]
    cells += [f"{row[when]['mrr']:.3f}{_interval(row[when]['interval'])}" for when in ("before", "after")]
    cells.append(f"{difference['difference']:+.3f}{_interval(difference['interval'])}" if difference else "")
    cells.append(f"{difference['p']:.2g}" if difference else "")
    return f"| {' | '.join(cells)} |"


def _interval(bounds: Any) -> str:
    return f" [{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else ""


def _licence(folder: Path) -> str:
    """Return the licence that a model's own card names."""
    try:
        with (folder / MODEL_CARD).open(encoding="utf-8", errors="replace") as file:
            found = _LICENCE.search(file.read(_FRONT_MATTER))
    except OSError:
        found = None
    return f"{found[1]}, as its own card says" if found else "see its own card"


def _plain(text: object) -> str:
    """Return a name as text of a Markdown line: names of catalogs and models are other people's."""
    return re.sub(r"([`|<>\[\]\\])", r"\\\1", " ".join(str(text).split()))
