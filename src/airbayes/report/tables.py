"""Tables from a results Dataset: rows are method and topology, columns the SNRs."""

import csv
import io
import math

import numpy as np
import xarray as xr
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airbayes.experiment.dataset import CELL_DIMS, STATUS_CODES
from airbayes.report.chance import collapsed_runs
from airbayes.report.style import short
from airbayes.text import for_spreadsheet, printable, true_minus

PLACE = 60  # characters of a graph's name
EXACT_NOTE = "= every gain was 1 in every block: the law of DSGLD, with other noise"
CHANCE_NOTE = "* a seed is near chance, where ECE means nothing"


def snr_tables(dataset: xr.Dataset, metric: str, title: str, width: int) -> list[Table]:
    """One metric of every cell, the mean over seeds; as many SNRs beside each other as `width` columns allow."""
    snrs = [float(snr) for snr in dataset.snr_db.values]
    guessing = collapsed_runs(dataset).any("seed") if metric == "ece" else xr.zeros_like(dataset.status).any("seed")
    entries: dict[tuple[str, str], list[Text]] = {}
    for variant in map(str, dataset.method.values):
        for topology in map(str, dataset.topology.values):
            cells = dataset.sel({"method": variant, "topology": topology})
            if (cells.status > 0).any():
                vain = guessing.sel({"method": variant, "topology": topology})
                entries[variant, topology] = [
                    _entry(cells.sel(snr_db=snr), metric, bool(vain.sel(snr_db=snr))) for snr in snrs
                ]
    if not entries:
        return []
    names = max(len(short(variant)) for variant, _ in entries)
    column = max(len(entry.plain) for row in entries.values() for entry in row) + 2
    per_table = max(1, (width - names - 14) // max(column, 8))
    every = [entry.plain for row in entries.values() for entry in row]
    notes = [EXACT_NOTE] * any(text.endswith("=") for text in every)
    notes += [CHANCE_NOTE] * any(text.startswith("*") for text in every)
    tables = []
    for begin in range(0, len(snrs), per_table):
        shown = range(begin, min(begin + per_table, len(snrs)))
        last = shown.stop == len(snrs)
        table = _table("method", "topology", title=title, caption="\n".join(notes) or None if last else None)
        for index in shown:
            table.add_column("ideal" if math.isinf(snrs[index]) else true_minus(f"{snrs[index]:g} dB"), justify="right")
        previous = None
        for (variant, topology), row in entries.items():
            if not any(row[index].plain for index in shown):  # all that it has stands beside other SNRs
                continue
            if previous not in (None, variant):
                table.add_section()
            previous = variant
            place = "" if topology == "none" else printable(topology, PLACE)
            table.add_row(Text(short(variant)), Text(place), *(row[index] for index in shown))
        for name in table.columns:
            name.no_wrap = True
        tables.append(table)
    return tables


def _table(*columns: str, title: str, caption: str | None = None) -> Table:
    return Table(
        *columns,
        title=title,
        caption=caption,
        box=SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        pad_edge=False,
        collapse_padding=True,
    )


def _entry(cell: xr.Dataset, metric: str, vain: bool) -> Text:
    """The mean over the seeds that did not diverge, and how many did; a star where it means nothing."""
    present = cell.status > 0
    if not present.any():
        return Text("")
    diverged = int((cell.status == STATUS_CODES["diverged"]).sum())
    if diverged == int(present.sum()):
        return Text("diverged", style="red")
    if metric not in cell:
        return Text("–")
    values = cell[metric].where(cell.status == STATUS_CODES["ok"])
    text = "*" * vain + f"{float(values.mean()):.3f}" + (f" ({diverged} div)" if diverged else "")
    exact = "unit_gain_min" in cell and float(cell["unit_gain_min"].min()) == 1.0
    return Text(text + ("=" if exact else " "), style="green" if exact else "")


def same_law(dataset: xr.Dataset) -> xr.DataArray:
    """Where two methods of one graph and SNR had every gain at 1, [topology, snr_db]: one sampler, with other noise."""
    if "unit_gain_min" not in dataset:
        return xr.DataArray(False)
    return (dataset["unit_gain_min"].min("seed") == 1.0).sum("method") > 1  # NaN where there are no gains


def law_tables(dataset: xr.Dataset, width: int) -> list[Table]:
    """Sampled against exact, for the cells whose law is known in closed form; what the chains are worth stands in a
    table of its own where one of all does not fit into `width`."""
    title = "W2 to the true posterior over ideal links, of one agent and of the network average"
    caption = "exact: what the sampler's own stationary law predicts; the samples add a Monte Carlo error"
    rows = _law_rows(dataset)
    if not rows:
        return []
    heads = ("method", "topology", "agent", "exact", "network", "exact", "R-hat", "ESS")
    whole = _law_table(heads, rows, title, caption)
    if Console(width=10_000).measure(whole).maximum <= width:
        return [whole]
    chains = [(*row[:2], *row[6:]) for row in rows]
    return [
        _law_table(heads[:6], [row[:6] for row in rows], title, caption),
        _law_table((*heads[:2], *heads[6:]), chains, "R-hat and ESS over ideal links", None),
    ]


def _law_table(heads: tuple[str, ...], rows: list[tuple], title: str, caption: str | None) -> Table:
    table = _table(*heads, title=title, caption=caption)
    for column in table.columns[:2]:  # these give way first
        column.overflow, column.min_width = "fold", 5
    for column in table.columns[2:]:
        column.justify, column.no_wrap = "right", True
    for row in rows:
        table.add_row(*row)
    return table


def _law_rows(dataset: xr.Dataset) -> list[tuple]:
    rows = []
    ideal = dataset.sel(snr_db=np.inf)
    for variant in dataset.method.values:
        for topology in dataset.topology.values:
            cell = ideal.sel({"method": variant, "topology": topology})
            if not np.isfinite(cell["w2_agent_predicted"]).any():
                continue

            def mean(name: str, cell: xr.Dataset = cell, digits: str = ".4f") -> str:
                return format(float(cell[name].mean()), digits)

            row = (
                Text(short(str(variant))),
                Text("" if topology == "none" else printable(str(topology), PLACE)),
                mean("w2_agent"),
                mean("w2_agent_predicted"),
                mean("w2_network"),
                mean("w2_network_predicted"),
                mean("rhat", digits=".3f") if "rhat" in cell else "",
                mean("ess", digits=".0f") if "ess" in cell else "",
            )
            rows.append(row)
    return rows


def cells_csv(dataset: xr.Dataset) -> str:
    """Every cell and every scalar metric, one row each, for spreadsheets."""
    scalars = [str(name) for name, variable in dataset.data_vars.items() if variable.dims == CELL_DIMS]
    metrics = [name for name in scalars if name != "status"]
    names = {code: name for name, code in STATUS_CODES.items()}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*CELL_DIMS, "status", *metrics])
    for index in np.argwhere(dataset.status.values > 0):
        cell = dataset.isel(dict(zip(CELL_DIMS, index, strict=True)))
        row = [for_spreadsheet(cell[dim].item()) for dim in CELL_DIMS] + [names[int(cell.status)]]
        writer.writerow(row + [f"{float(cell[name]):.6g}" for name in metrics])
    return out.getvalue()
