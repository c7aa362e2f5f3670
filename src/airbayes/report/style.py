"""Names, colours and line styles, the same in every table and figure."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airbayes.experiment.dataset import STATUS_CODES
from airbayes.text import for_figure, in_lines, plural, printable, true_minus

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

LABELS = {
    "sgld": "SGLD, one place",
    "dsgld": "DSGLD, ideal links",
    "dsghmc": "DSGHMC, ideal links",
    "dsgd": "DSGD, ideal links",
    "q_dsgd": "Q-DSGD",
    "local_sgld": "SGLD, every agent alone",
    "local_sgd": "SGD, every agent alone",
    "cd_dsgld:optimal": "CD-DSGLD, optimal gains (paper)",
    "cd_dsgld:truncated": "CD-DSGLD, truncated gains",
    "cd_dsgld:common": "CD-DSGLD, common gain (ours)",
}

SHORT = {  # for tables, where width is dear
    "sgld": "SGLD",
    "dsgld": "DSGLD",
    "dsghmc": "DSGHMC",
    "dsgd": "DSGD",
    "q_dsgd": "Q-DSGD",
    "local_sgld": "SGLD alone",
    "local_sgd": "SGD alone",
    "cd_dsgld:optimal": "CD-DSGLD optimal",
    "cd_dsgld:truncated": "CD-DSGLD truncated",
    "cd_dsgld:common": "CD-DSGLD common",
}

# Okabe and Ito's palette, readable with any colour vision.
COLOURS = {
    "sgld": "#000000",
    "dsgld": "#0072B2",
    "dsghmc": "#56B4E9",
    "dsgd": "#999999",
    "q_dsgd": "#CC79A7",
    "local_sgld": "#7A5195",
    "local_sgd": "#8C5A2B",
    "cd_dsgld:optimal": "#D55E00",
    "cd_dsgld:truncated": "#E69F00",
    "cd_dsgld:common": "#009E73",
}

# Optimal and truncated gains often coincide: the wider line shows from under the narrower one.
WIDTHS = {"cd_dsgld:optimal": 3.6, "cd_dsgld:truncated": 1.2}

MARKERS = {"cd_dsgld:optimal": "o", "cd_dsgld:truncated": "s", "cd_dsgld:common": "D", "q_dsgd": "^"}


def label(variant: str) -> str:
    return LABELS.get(variant, for_figure(variant))


def study_name(attributes: Mapping) -> str:
    """Of the results' attributes, for the title of a figure."""
    return for_figure(str(attributes.get("experiment", "results")))


def is_radio(variant: str) -> bool:
    """Whether it depends on an SNR; other methods have ideal links or none."""
    return variant.startswith(("cd_", "q_"))


def short(variant: str) -> str:
    return SHORT.get(variant, printable(variant))


def width(variant: str) -> float:
    return WIDTHS.get(variant, 1.8)


def colour(variant: str) -> str:
    return COLOURS.get(variant, "#444444")


def column_title(text: str, wide: int = 30) -> str:
    """Of a column of panels: names of edge lists may be long, and would run into the next column."""
    return "\n".join(map(for_figure, in_lines(text, wide, 3).split("\n")))


def lost_words(dataset: "xr.Dataset") -> str:
    """For the title of a figure, which draws means of the others; empty where no cell diverged."""
    lost = int((dataset.status == STATUS_CODES["diverged"]).sum())
    present = int((dataset.status > STATUS_CODES["absent"]).sum())
    return f"{lost:,} of {plural(present, 'cell')} diverged and count in no mean" if lost else ""


def around_one_snr(axes: "Axes", snr: float, transition: float | None) -> None:
    """An axis with room on both sides of its only SNR, and for the predicted transition; a number for each that fits.

    Without its own number a transition could be anywhere: panels of other graphs have other axes.
    """
    seen = [snr, snr if transition is None else transition]
    axes.set_xlim(min(seen) - 3, max(seen) + 3)
    ticks = [each for each in dict.fromkeys(seen) if each == snr or abs(each - snr) >= 2]
    axes.set_xticks(ticks, [true_minus(f"{each:g}" if each == snr else f"{each:.1f}") for each in ticks])
