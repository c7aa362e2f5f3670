"""Scored claims on the terminal: an overview, the comparisons behind each verdict, and what to know about them."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airbayes.report.claims import ClaimRecord, combine_points
from airbayes.report.paired import Effect, Metric
from airbayes.report.style import short

STYLES = {"holds": "green", "does not hold": "red", "undecided": "yellow", "vacuous": "yellow", "not measured": "dim"}
METRICS: tuple[Metric, ...] = ("accuracy", "ece")
CAPTION = (
    "Difference: CD-DSGLD (predictive mean) − Q-DSGD (last iterate), paired by seed; [ ]: 95 % bootstrap interval over "
    "seeds; div: runs that diverged; for, against: where the difference points, seen from the claim."
)


def show_claims(records: list[ClaimRecord], console: Console) -> None:
    console.print(_overview(records))
    for gains in dict.fromkeys(record.gains for record in records):
        chosen = [record for record in records if record.gains == gains]
        console.print(_details(gains, chosen))
        notes: dict[str, list[str]] = {}
        for record in chosen:
            for note in (*_axis_notes(record), *record.reasons):
                notes.setdefault(note, []).append(record.claim)
        for note, claims in notes.items():
            console.print(Text(f"{', '.join(claims)}: {note}."))
        console.print()
    console.print(Text(CAPTION, style="dim"))


def measure(record: ClaimRecord, metric: Metric) -> str:
    """What was compared, in words: accuracy is balanced over the classes where that is stored."""
    return "ECE" if metric == "ece" else record.accuracy.replace("_", " ")


def _overview(records: list[ClaimRecord]) -> Table:
    gains = list(dict.fromkeys(record.gains for record in records))
    titles = [f"{name} gains" if name == "optimal" else f"{name} gain" for name in gains]
    table = _table("", "claim", *titles, title="The paper's claims")
    verdicts = {(record.claim, record.gains): record.verdict for record in records}
    for claim, text in {record.claim: record.text for record in records}.items():
        table.add_row(claim, text, *(_styled(verdicts[claim, name]) for name in gains))
    return table


def _details(gains: str, records: list[ClaimRecord]) -> Table:
    title = f"{short(f'cd_dsgld:{gains}')} against Q-DSGD"
    table = _table("", "graph", "measure", "dB", "CD-DSGLD", "Q-DSGD", "difference", "seeds", "verdict", title=title)
    for column, width in zip(table.columns, (2, 4, 8, 2, 8, 6, 10, 5, 9), strict=True):
        column.min_width = width
    for column in table.columns[4:8]:
        column.justify = "right"
    for record in records:
        if _over_axis(record):
            for metric in METRICS:
                effects = [effect for effect in record.effects if effect.metric == metric]
                verdict = combine_points([effect.verdict for effect in effects])
                table.add_row(record.claim, *_axis_row(record, effects), _styled(verdict))
        else:
            for effect in record.effects:
                table.add_row(record.claim, *_row(record, effect), _verdict(effect))
        table.add_section()
    return table


def _over_axis(record: ClaimRecord) -> bool:
    """Whether the claim is judged point by point; its rows are then folded into one for each measure."""
    return len(record.effects) > len({(effect.topology, effect.metric) for effect in record.effects})


def _row(record: ClaimRecord, effect: Effect) -> list[Text]:
    snrs = ", ".join(f"{snr:g}" for snr in effect.snr_db) or "none"
    front = [Text(effect.topology), Text(measure(record, effect.metric)), Text(snrs)]
    if effect.difference is None or effect.cd_mean is None or effect.q_mean is None:
        seeds = Text(f"0 of {effect.seeds_total}")
        return [*front, _diverged("–", effect.cd_diverged), _diverged("–", effect.q_diverged), Text("–"), seeds]
    interval = "" if effect.low is None else f" [{_signed(effect.low)}, {_signed(effect.high or 0.0)}]"
    partial = f" of {effect.seeds_total}" if effect.seeds < effect.seeds_total else ""
    return [
        *front,
        _diverged(f"{effect.cd_mean:.3f}", effect.cd_diverged),
        _diverged(f"{effect.q_mean:.3f}", effect.q_diverged),
        Text(_signed(effect.difference) + interval),
        Text(f"{effect.seeds}{partial}"),
    ]


def _axis_row(record: ClaimRecord, effects: list[Effect]) -> list[Text]:
    """All points of the axis in one row: the range of the differences."""
    found = [effect.difference for effect in effects if effect.difference is not None]
    spread = f"{_signed(min(found))} to {_signed(max(found))}" if found else "–"
    snrs = [snr for effect in effects for snr in effect.snr_db]
    seeds = sorted({effect.seeds for effect in effects})
    return [
        Text(effects[0].topology),
        Text(measure(record, effects[0].metric)),
        Text(f"{min(snrs):g} to {max(snrs):g}"),
        _diverged("", sum(effect.cd_diverged for effect in effects)),
        _diverged("", sum(effect.q_diverged for effect in effects)),
        Text(spread),
        Text(f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"),
    ]


def _axis_notes(record: ClaimRecord) -> list[str]:
    """For each measure, the SNRs sorted by verdict: "ECE holds at 20, 25, 30 dB; undecided (for) at 10 dB"."""
    if not _over_axis(record):
        return []
    notes = []
    for metric in METRICS:
        groups: dict[str, list[str]] = {}
        for effect in record.effects:
            if effect.metric == metric:
                groups.setdefault(_verdict(effect).plain, []).extend(f"{snr:g}" for snr in effect.snr_db)
        notes.append(
            f"{measure(record, metric)} "
            + "; ".join(f"{what} at {', '.join(snrs)} dB" for what, snrs in groups.items())
        )
    return notes


def _verdict(effect: Effect) -> Text:
    leaning = effect.verdict == "undecided" and effect.leans != "neither"
    return _styled(effect.verdict, f" ({effect.leans})" if leaning else "")


def _styled(verdict: str, more: str = "") -> Text:
    return Text(verdict + more, style=STYLES.get(verdict, ""))


def _diverged(mean: str, count: int) -> Text:
    return Text(f"{mean} ({count} div)".strip() if count else mean)


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _table(*columns: str, title: str) -> Table:
    return Table(
        *columns,
        title=title,
        box=SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        collapse_padding=True,
    )
