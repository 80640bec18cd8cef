"""An evaluation in sections, which a terminal of 80 columns prints and a page shows: tables, notes and details."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from quartermaster.evaluation import HEADLINE_METRICS, METRICS, NDCG, SUCCESS_AT_1, Cause, K
from quartermaster.evaluation.measurement import FUSED
from quartermaster.evaluation.metrics import Metric, metrics_at
from quartermaster.output.comparison import (
    Details,
    Result,
    Section,
    ablation_table,
    against_parts,
    best_values,
    kind_text,
)
from quartermaster.output.formatting import (
    MISSING,
    Row,
    decimal,
    interval_column,
    interval_text,
    make_table,
    metric_text,
    name_column,
    number_columns,
    shorten,
)
from quartermaster.output.terminal import out, plain_text, print_err, print_heading, print_out
from router import Signal

_MAX_NAMED = 3  # tools that a warning names
_MAX_REQUEST = 300  # characters


def show_evaluation(result: Result, worst: int = 0) -> None:
    """Print an evaluation. `worst` is how many of the worst requests to list, below the missed steps by cause."""
    title = f"{result['bench']}: {result['tools']:,} tools, {result['queries']:,} requests, recipe {result['recipe']}"
    out.print(plain_text(title, "italic"))
    for place, section in enumerate(sections(result, result["worst"][:worst])):
        if place and section.parts:
            print_heading(section.title)
        for index, part in enumerate(section.parts):
            if isinstance(part, str):
                out.print(plain_text(part, "dim"))
                continue
            if index:
                out.print()
            if isinstance(part, Table):
                out.print(part)
                continue
            print_out(plain_text(part.name, "bold cyan") + plain_text(f": {part.text}"))
            for line in part.lines:
                print_out(Text("  ") + line)
    if unknown := result["unknown"]:
        named = ", ".join(unknown[:_MAX_NAMED]) + (", …" if len(unknown) > _MAX_NAMED else "")
        print_err(f"{len(unknown):,} tools that the judgements name are not in the snapshot: {named}", "yellow")


def evaluation_line(evaluation: Result) -> str:
    """Return a manifest's evaluation as a line: this snapshot's metrics, and those of the one that served before."""

    def both(metrics: Mapping[str, float | None]) -> str:
        return ", ".join(f"{m.key} {decimal(metrics[m.key])}" for m in HEADLINE_METRICS)

    before = f"; before: {both(evaluation['serving']['metrics'])}" if "serving" in evaluation else ""
    return f"{evaluation['requests']:,} requests: {both(evaluation['metrics'])}{before}"


def sections(result: Result, worst: Sequence[Result], *, page: bool = False) -> Iterator[Section]:
    """Yield the parts of an evaluation that it has figures for. A `page` has plots, and more figures in each table."""
    yield Section("Signals", [_signals_table(result, METRICS, page), *_notes(result)])
    for k, at in result["at"].items():
        yield Section(f"Among the first {k}", [_signals_table(at, metrics_at(int(k)), page)])
    if page:
        yield Section("Recall by k", [], plot="recall")
        yield Section("Ranks", [], plot="ranks")
    kinds = {"slice": result["slices"], **result["by"]}
    if any(kinds.values()):
        yield Section("Kinds of requests", [_kinds_table(kinds, page)])
    yield Section("Requests that no tool answers", [_abstention(result)], plot="reliability")
    if result.get("ablation"):
        yield Section("The fused list without a signal", [ablation_table(result["ablation"])])
    if other := result.get("against"):
        yield Section(
            f"Against {other['snapshot']}, recipe {other['recipe']}", list(against_parts(result, other, page))
        )
    if worst or page:
        causes = result["causes"]
        title = f"Missed steps by cause ({causes['missed']:,} of {causes['steps']:,} steps)"
        yield Section(title, list(_causes(causes)))
    if worst:
        yield Section(f"The worst requests ({len(worst)})", [_worst(row, result) for row in worst])


def _signals_table(result: Result, metrics: Sequence[Metric], page: bool) -> Table:
    """Return each signal and the fused list by metric, the best single signal in bold, with intervals."""
    signals = result["signals"]
    best = best_values((values for signal, values in signals.items() if signal in tuple(Signal)), metrics)
    rows: list[Row] = []
    for signal, values in signals.items():
        if signal == FUSED:
            rows.append(None)
        rows.append((signal, *(metric_text(values[m.key], best[m.key]) for m in metrics)))
        if signal in result["intervals"] and (page or signal == FUSED):
            bounds = result["intervals"][signal]
            rows.append((Text("95 %", "dim"), *(Text(interval_text(bounds[m.key]), "dim") for m in metrics)))
    return make_table((name_column("signal"), *number_columns(*(m.header for m in metrics))), rows)


def _notes(result: Result) -> Iterator[str]:
    misses, causes, latency = result["misses"], result["causes"]["by_cause"], result["latency_ms"]
    missed = misses["fusion"] + misses["retrieval"] + misses["absent"]
    absent = f", {misses['absent']:,} not in the snapshot" if misses["absent"] else ""
    yield (
        f"{missed:,} of {misses['steps']:,} steps missed: {misses['retrieval']:,} not in the first ten of any list, "
        f"{misses['fusion']:,} lost in fusion{absent}"
    )
    if by_cause := _counts({cause.label: causes[cause]["steps"] for cause in Cause}):
        yield f"by cause: {by_cause}"
    yield f"route: p50 {latency['p50']} ms, p95 {latency['p95']} ms"


def _kinds_table(kinds: Mapping[str, Result], page: bool) -> Table:
    """Return the metrics of the fused list by kind of request, with counts and 95 % intervals."""
    metrics = (SUCCESS_AT_1, *HEADLINE_METRICS) if page else HEADLINE_METRICS
    has_refused = any(values["refused"] is not None for of_sort in kinds.values() for values in of_sort.values())
    columns = [name_column("fused, by kind"), *number_columns("requests")]
    for metric in metrics:
        columns += [*number_columns(metric.header), interval_column()]
    columns += number_columns("refused") if has_refused else []
    rows: list[Row] = []
    for sort, of_sort in kinds.items():
        for kind, values in of_sort.items():
            if not has_refused and values[NDCG(K).key] is None:
                continue
            measured = [(metric_text(values[m.key]), interval_text(values["intervals"][m.key])) for m in metrics]
            share = MISSING if values["refused"] is None else f"{values['refused']:.0%}"
            cells = [cell for pair in measured for cell in pair] + ([share] if has_refused else [])
            rows.append((kind_text(sort, kind), f"{values['queries']:,}", *cells))
        rows.append(None)
    return make_table(columns, rows)


def _abstention(result: Result) -> str:
    if (no_tool := result["no_tool"]) is None:
        return "Not measured: no request is of kind none, or the snapshot gives no probability that some tool fits."
    calibration = ""
    if reliable := result["reliability"]:
        brier, error = decimal(reliable["brier"]), decimal(reliable["error"])
        calibration = f" Brier score {brier}, expected calibration error {error}."
    return (
        f"AUC {decimal(no_tool['auc'])} ({interval_text(no_tool['auc_interval'])}); {no_tool['refused_at_95']:.0%} are "
        f"refused where 95 % of the others are kept. At the router's own threshold {no_tool['refused']:.0%} are "
        f"refused, and {no_tool['refused_wrongly']:.0%} of the others wrongly.{calibration}"
    )


def _causes(causes: Result) -> Iterator[Table | str | Details]:
    """Yield the missed steps by cause: counts, costs, nearest lists, then each cause with its remedy and examples."""
    by_cause = {cause: row for cause in Cause if (row := causes["by_cause"][cause])["steps"]}
    if by_cause:
        rows = [
            (
                *(cause.label, f"{row['steps']:,}", f"{row['share']:.0%}"),
                *(decimal(row["lost"][metric.key]) for metric in HEADLINE_METRICS),
                _counts(row["nearest"]),
            )
            for cause, row in by_cause.items()
        ]
        counted = number_columns("steps", "share", *(f"-{metric.key}" for metric in HEADLINE_METRICS))
        yield make_table((name_column("cause"), *counted, "nearest list"), rows)
    else:
        yield "No step is missed."
    order, abstention = causes["order"], causes["abstention"]
    if order["requests"]:
        key = NDCG(K).key
        yield f"right tools too low: {order['requests']:,} requests, -{key} {decimal(order['lost'][key])}"
    if abstention and abstention["unanswerable"]:
        answered, unanswerable = abstention["answered"], abstention["unanswerable"]
        yield f"abstention: {answered:,} of {unanswerable:,} requests that no tool answers are answered"
    for cause, row in by_cause.items():
        examples = [line for example in row["examples"] for line in _example(example)]
        yield Details(cause.label, row["meaning"], [plain_text(row["way_out"]), *examples])


def _example(example: Result) -> Iterator[Text]:
    yield plain_text(f"{example['id']}  ", "dim") + plain_text(shorten(example["request"], _MAX_REQUEST))
    place = f"rank {example['rank']}" if example["rank"] else "not ranked"
    missed = plain_text(f"  {', '.join(example['missed'])}", "cyan")
    yield missed + plain_text(f"  {place}: {example['evidence']}")
    yield plain_text(f"  instead: {', '.join(example['instead']) or 'nothing wrong, only right tools'}", "dim")


def _worst(row: Result, result: Result) -> Details:
    """Return a request with its required tools, why they were missed, and the tools returned instead."""
    lines = [plain_text(", ".join(f"{m.key} {decimal(row[m.key])}" for m in reversed(HEADLINE_METRICS)), "dim")]
    for tool in row["required"]:
        place = f"{tool['rank']:>4,}" if tool["rank"] else f"   {MISSING}"
        lines.append(Text(f"{place} ") + plain_text(tool["tool_id"], "cyan") + plain_text(f"  {tool['why']}"))
    if row["required_left_out"]:
        lines.append(Text(f"     and {row['required_left_out']} more", "dim"))
    returned = ", ".join(tool["tool_id"] for tool in row["returned"]) or "nothing"
    lines.append(plain_text(f"returned first: {returned}", "dim"))
    signals = [signal for signal in Signal if signal in result["signals"]]
    ranks = [
        (
            plain_text(tool["tool_id"], "" if "right" not in tool else "green" if tool["right"] else "red"),
            str(tool.get("rank") or MISSING),
            *(str(tool["ranks"].get(signal, MISSING)) for signal in signals),
            tool["phrase"] or MISSING,
        )
        for tool in (*row["required"], *({**tool, "rank": n} for n, tool in enumerate(row["returned"], 1)))
    ]
    ranks_table = make_table(("tool", *number_columns("rank", *signals), "nearest phrase"), ranks)
    return Details(row["id"], shorten(row["request"], _MAX_REQUEST), lines, ranks_table)


def _counts(counts: Mapping[str, int]) -> str:
    """Return the counts that are not zero as one line, the highest first."""
    return ", ".join(f"{key} {count:,}" for key, count in Counter(counts).most_common() if count)
