"""`lookalike plan`: which bands and rows, why, and what they find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from lookalike.cli.command_options import PlanCommand, command, typed
from lookalike.options import PlanOptions
from lookalike.options.option_table import checked, entries

if TYPE_CHECKING:
    from rich.table import Table

    from lookalike.theory import Plan

__all__ = ["plan"]


@command(PlanCommand)
def plan(**given: Unpack[PlanCommand]) -> None:
    """Choose bands and rows for a threshold and a recall, and show the S-curve, the probabilities and the cost.

    Example: lookalike plan --threshold 0.8 --recall 0.99 --plot curve.svg
    """
    from lookalike.cli.terminal import out, print_json, say
    from lookalike.cli.wrapping import tell
    from lookalike.errors import OptionError
    from lookalike.theory import coloured_curve, svg

    items, plot, sample = given["items"], given["plot"], given["sample"]
    if not 1 <= items < float("inf"):
        raise OptionError(f"items is {items:g}: it must be a number, 1 or more")
    if plot is not None and plot.suffix != ".svg":
        raise OptionError(f"plot is {plot}: the picture must end in .svg")
    options = {name: typed(given[name]) for name in entries(PlanOptions)}  # type: ignore[literal-required]
    delimiter = checked(PlanCommand, given)["delimiter"]
    if delimiter is not None and not sample:
        raise OptionError("delimiter (--delimiter) goes with files of items: name them with --sample")
    chosen = _with_sample(sample, options, int(items), delimiter) if sample else _from_options(options, int(items))
    if plot is not None:
        from lookalike.io.writing.atomic import atomic_file

        with atomic_file(plot, overwrite=given["overwrite"]) as part:
            part.write_text(svg(chosen), encoding="utf-8")
    if given["json"]:
        print_json(_as_data(chosen))
        return
    console = out()
    tell(console, str(chosen))
    # Where every pair is compared the curve is flat, and each row of the table says 1.
    if not chosen.exhaustive:
        console.print()
        console.print(coloured_curve(chosen, width=min(console.width, 80)))
        console.print(_table(chosen))
    if plot is not None:
        say(f"wrote {plot}")


def _with_sample(sample: list[str], options: dict[str, Any], items: int, delimiter: str | None) -> Plan:
    from lookalike.config import make_config
    from lookalike.engines.local.sampled_plan import plan_for
    from lookalike.engines.planning_sample import SAMPLE_ITEMS
    from lookalike.io import check_delimiter, open_files

    source = open_files(sample, delimiter=delimiter, limit=20 * SAMPLE_ITEMS)
    check_delimiter(delimiter, source)
    return plan_for(make_config(**options), items, source)


def _from_options(options: dict[str, Any], items: int) -> Plan:
    """Without any data; neither Arrow nor Numba is needed."""
    from lookalike.config import make_config
    from lookalike.theory import plan as choose

    config = make_config(**options)
    return choose(
        config.scale.limit, config.recall, bands=config.bands, rows=config.rows, items=items,
        measure=config.measure or "jaccard", exhaustive=True,
    )  # fmt: skip


def _table(chosen: Plan) -> Table:
    from rich.table import Table

    table = Table(header_style="bold")
    table.add_column("distance" if chosen.is_distance else "similarity", justify="right")
    table.add_column("found with probability", justify="right")
    for s, probability in chosen.table(20)[1:]:
        mark = "[bold]" if abs(s - chosen.threshold) < 1e-9 * chosen.top else ""
        table.add_row(f"{mark}{s:.2f}" if chosen.top == 1.0 else f"{mark}{s:.4g}", f"{mark}{probability:.6f}")
    return table


def _as_data(chosen: Plan) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(chosen) | {
        "slots": chosen.slots,
        "curve": [
            {"distance" if chosen.is_distance else "similarity": s, "probability": p} for s, p in chosen.table(20)
        ],
    }
