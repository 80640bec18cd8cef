"""An evaluation as one self-contained HTML file: a verdict, figures, plots, the worst requests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from quartermaster.evaluation import HEADLINE_METRICS, METRICS, SUCCESS_AT_1, Cause
from quartermaster.output.differences import encoder_rows
from quartermaster.output.formatting import decimal, interval_text
from quartermaster.output.report.plots import plots
from quartermaster.output.report.verdict import verdict
from router import Signal


def write_report(file: Path, result: Mapping[str, Any]) -> None:
    """Write the report of an evaluation's JSON: `quartermaster.evaluation.summary`, worst, ablation and against."""
    file.write_text(render_report(result), encoding="utf-8")


def render_report(result: Mapping[str, Any]) -> str:
    """Return the report as HTML. Texts of catalogs and requests are escaped."""
    environment = Environment(
        loader=PackageLoader("quartermaster.output.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": decimal, "span": interval_text, "p": _p, "signed": _signed}
    drawings = {name: Markup(svg) for name, svg in plots(result).items()}  # noqa: S704 - our own drawing, text escaped
    sorts = {"slice": result["slices"], **result["by"]}
    return environment.get_template("page.html.jinja").render(
        result=result,
        verdict=verdict(result),
        metrics=METRICS,
        headline_metrics=HEADLINE_METRICS,
        slice_metrics=(SUCCESS_AT_1, *HEADLINE_METRICS),
        signals=[signal for signal in Signal if signal in result["signals"]],
        plots=drawings,
        causes=list(Cause),
        sorts=sorts,
        encoders=_encoders(result),
    )


def _encoders(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    other = result["against"]
    return encoder_rows(result) if other and other["encoder"] != result["encoder"] else []


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else decimal(value)


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + decimal(value)
