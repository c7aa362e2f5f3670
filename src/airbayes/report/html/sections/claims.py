"""The paper's claims and what this run says about them."""

from airbayes.report.claims import ClaimRecord
from airbayes.report.claims_show import measure
from airbayes.report.html.parts import Cell, Section, Table, Tone
from airbayes.report.html.runs import Run
from airbayes.report.paired import MIN_SEEDS, Effect
from airbayes.report.style import short

TONES: dict[str, Tone] = {"holds": "good", "does not hold": "bad", "undecided": "open", "vacuous": "open"}


def claims_section(run: Run) -> Section | None:
    if not run.claims:
        return None
    notes: dict[str, list[str]] = {}
    for record in run.claims:
        for reason in record.reasons:
            notes.setdefault(f"{_gains(record)}: {reason}", []).append(record.claim)
    rows = tuple(_row(record, effect) for record in run.claims for effect in record.effects)
    head = ("claim", "method", "graph", "SNR (dB)", "measure", "CD-DSGLD", "Q-DSGD", "difference", "seeds", "verdict")
    return Section(
        "claims",
        "The paper's claims",
        "The paper says four things about this figure; each is scored by comparing the two methods seed by seed, "
        f"and a verdict needs {MIN_SEEDS} seeds whose 95 % interval lies on one side of zero. Undecided is not "
        "refuted: it says that this run is too small to tell; (for) and (against) then say where the difference "
        "points, seen from the claim.",
        tables=(Table("Every comparison behind the verdicts", head, rows, words=(0, 1, 2, 3, 4, 9)),),
        notes=tuple(f"{', '.join(dict.fromkeys(claims))}. {note}." for note, claims in notes.items()),
    )


def _gains(record: ClaimRecord) -> str:
    return short(f"cd_dsgld:{record.gains}")


def _row(record: ClaimRecord, effect: Effect) -> tuple[Cell | str, ...]:
    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.3f}"

    interval = "" if effect.low is None or effect.high is None else f" [{_signed(effect.low)}, {_signed(effect.high)}]"
    difference = "–" if effect.difference is None else _signed(effect.difference) + interval
    leans = f" ({effect.leans})" if effect.verdict == "undecided" and effect.leans != "neither" else ""
    lost = lambda count: f" ({count} diverged)" if count else ""  # noqa: E731
    variant = f"cd_dsgld:{record.gains}"
    return (
        record.claim,
        Cell(short(variant), variant),
        effect.topology,
        ", ".join(f"{snr:g}" for snr in effect.snr_db) or "none",
        measure(record, effect.metric),
        number(effect.cd_mean) + lost(effect.cd_diverged),
        number(effect.q_mean) + lost(effect.q_diverged),
        difference,
        f"{effect.seeds} of {effect.seeds_total}",
        Cell(effect.verdict + leans, tone=TONES.get(effect.verdict, "dim")),
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
