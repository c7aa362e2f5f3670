"""The tables of docs/study.md hold the numbers of docs/results, rounded once."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from airbayes.experiment.store import read_dataset

DOCS = Path(__file__).parents[2] / "docs"
STUDY = (DOCS / "study.md").read_text(encoding="utf-8")
METHODS = {
    "CD-DSGLD, optimal": "cd_dsgld:optimal",
    "CD-DSGLD, common": "cd_dsgld:common",
    "Q-DSGD": "q_dsgd",
    "DSGD": "dsgd",
    "DSGLD": "dsgld",
    "SGD": "local_sgd",
    "SGLD, one place": "sgld",
    "SGLD, every": "local_sgld",
}


def rows_after(words: str) -> list[list[str]]:
    """The rows of the first table after some words; an empty first cell repeats the one above."""
    table = STUDY[STUDY.index(words) :]
    found: list[list[str]] = []
    for line in table[table.index("|---") :].splitlines()[1:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        found.append([cells[0] or found[-1][0], *cells[1:]])
    return found


def method_of(cell: str) -> str:
    (name,) = (variant for words, variant in METHODS.items() if cell.startswith(words))
    return name


def assert_rounded(printed: str, value: float, where: object) -> None:
    digits = len(printed.partition(".")[2])
    assert printed == "–" or abs(float(printed) - value) <= 0.5 * 10**-digits + 1e-7, (where, printed, value)


ACCURACY_ECE, BALANCED_NLL = ("accuracy", "ece"), ("balanced_accuracy", "nll")


@pytest.mark.parametrize(
    ("folder", "words", "metrics"),
    [
        ("paper", "mean of 8 seeds", ACCURACY_ECE),
        ("paper-prior-0.3", "mean of 5 seeds:", ACCURACY_ECE),
        ("paper-real", "Accuracy / ECE, mean of five real splits:", ACCURACY_ECE),
        ("paper-real", "/ NLL, mean of five real splits:", BALANCED_NLL),
        ("paper-real-prior-0.3", "Accuracy / ECE, one real split, prior 0.3:", ACCURACY_ECE),
        ("paper-real-prior-0.3", "Balanced accuracy / NLL, one real split, prior 0.3:", BALANCED_NLL),
    ],
)
def test_two_metrics_against_snr(folder, words, metrics):
    dataset, rows = read_dataset(DOCS / "results" / folder), rows_after(words)
    assert len(rows) == 9
    for method, graph, *entries in rows:
        for snr, entry in zip(range(0, 35, 5), entries, strict=True):
            where = {"method": method_of(method), "topology": graph, "snr_db": snr}
            for name, printed in zip(metrics, entry.split(" / "), strict=True):
                value = float(dataset[name].sel(where).mean())
                assert printed != "–" or float(dataset.balanced_accuracy.sel(where).mean()) < 0.32, where
                assert_rounded(printed, value, (name, where))


def assert_directions(words: str, folders: tuple[str, ...], graphs: int) -> None:
    """A table of C1 to C3: per folder, both gains; each with difference, interval and where it points."""
    columns, rows = [], rows_after(words)
    for folder in folders:
        records = json.loads((DOCS / "results" / folder / "claims.json").read_text(encoding="utf-8"))["claims"]
        assert {record["verdict"] for record in records} == {"undecided"}
        found = {(record["claim"], record["gains"]): record["effects"] for record in records}
        columns += [{claim: found[claim, gains] for claim in ("C1", "C2", "C3")} for gains in ("optimal", "common")]
    assert len(rows) == graphs
    for claim, graph, *entries in rows:
        for effects, entry in zip(columns, entries, strict=True):
            (effect,) = (effect for effect in effects[claim[2:4]] if effect["topology"] == graph)
            *numbers, direction = re.findall(r"[-+]\d\.\d{3}|for|against", entry.replace("−", "-"))
            names = ("difference", "low", "high") if effect["seeds"] > 1 else ("difference",)
            for number, name in zip(numbers, names, strict=True):
                assert_rounded(number, effect[name], (claim, graph, name))
            assert direction == effect["leans"], (claim, graph)


def test_claims_with_few_seeds_have_a_direction_only():
    assert_directions("### The claims on real objects", ("paper-real", "paper-real-prior-0.3"), 8)
    assert_directions("intervals. A verdict needs eight seeds", ("paper-prior-0.3",), 8)


def test_claims_are_those_of_claims_json():
    """Differences, intervals and verdicts; C4, in words, is left out but for its verdict."""
    records = json.loads((DOCS / "results" / "paper" / "claims.json").read_text(encoding="utf-8"))["claims"]
    found = {(record["claim"], record["gains"]): record for record in records}
    rows, seen = rows_after("### The claims, scored"), set()
    for row in rows:
        claim, graph = row[0][2:4], row[1]
        for gains, entry, verdict in (("optimal", *row[2:4]), ("common", *row[4:6])):
            record = found[claim, gains]
            assert verdict in ("", f"**{record['verdict']}**")
            seen |= {(claim, gains)} if verdict else set()
            if claim == "C4":
                continue
            (effect,) = (effect for effect in record["effects"] if effect["topology"] == graph)
            printed = [number.replace("−", "-") for number in re.findall(r"[+−]\d\.\d{3}", entry)]
            for number, name in zip(printed, ("difference", "low", "high"), strict=True):
                assert_rounded(number, effect[name], (claim, gains, graph, name))
    assert seen == set(found)


@pytest.mark.parametrize(
    ("words", "starred", "folder", "seeds", "metrics"),
    [
        ("References, mean of seeds 0 to 2", "paper", "paper-references", [0, 1, 2], ("accuracy", "ece", "nll", "rms")),
        (
            "References on the first real split",
            "paper-real",
            "paper-real-references",
            [0],
            ("accuracy", "balanced_accuracy", "ece", "nll", "rms"),
        ),
    ],
)
def test_references(words, starred, folder, seeds, metrics):
    """Rows with a star are the same seeds of the main run."""
    rows = rows_after(words)
    stored = {star: read_dataset(DOCS / "results" / name) for star, name in ((True, starred), (False, folder))}
    assert len(rows) == 15
    for method, graph, *entries in rows:
        where = {"method": method_of(method), "topology": "none" if graph == "–" else graph, "seed": seeds}
        where["snr_db"] = 30.0 if "30 dB" in method else np.inf
        cells = stored[method.endswith("*")].sel(where)
        for name, printed in zip(metrics, entries, strict=True):
            assert printed != "–" or (name == "ece" and float(cells.accuracy.mean()) < 0.3), where
            assert_rounded(printed, float(cells[name].mean()), (name, where))


def test_references_over_iterations():
    rows = rows_after("Where they came from, accuracy of single samples")
    references = read_dataset(DOCS / "results" / "paper-references").sel({"topology": "none", "snr_db": np.inf})
    network = read_dataset(DOCS / "results" / "paper").sel({"topology": "full", "snr_db": 30.0})
    chains = [dataset.sel({"method": name}) for dataset, name in ((references, "sgld"), (references, "local_sgld"))]
    chains.append(network.sel({"method": "cd_dsgld:common"}))
    assert len(rows) == 11
    for iteration, *entries in rows:
        for place, chain in enumerate(chains):
            printed, rms = entries[2 * place : 2 * place + 2]
            step = int(iteration.replace(",", "")) * (5 if place == 2 else 1)
            if step > 15_000:
                assert (printed, rms) == ("–", "–")
                continue
            now = chain.sel(step=step)
            accuracy = now.sample_accuracy_over_steps.mean("agent")
            values = accuracy.values if place == 0 else [float(accuracy.mean())]
            for number, value in zip(printed.split(", "), values, strict=True):
                assert_rounded(number, value, (iteration, place))
            assert_rounded(rms, float(now.rms_over_steps.mean()), (iteration, place))


def test_settings_with_yaw():
    scores = json.loads((DOCS / "results" / "yaw-settings" / "scores.json").read_text(encoding="utf-8"))
    rows = rows_after("NLL of the mean with random yaw")
    assert len(scores) == 4 * len(rows) == 36
    for place, (setting, *entries, _) in enumerate(rows):
        group = scores[4 * place : 4 * place + 4]
        assert f"{group[0]['unit']:g} m" in setting
        assert ("fan-in" in setting) == (group[0]["scaling"] == "fan-in")
        assert f"N(0, {group[0]['prior']:g}" in setting
        assert [f"{each['source']} {each['seed']}" for each in group] == ["sim 100", "sim 101", "real 0", "real 1"]
        for each, entry in zip(group, entries, strict=True):
            for name, printed in zip(("accuracy", "ece", "nll"), entry.split(" / "), strict=True):
                assert_rounded(printed, each[name], (setting, each["source"], each["seed"], name))


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ("**The network ends where the lone chains ended.**", "paper-long"),
        ("**These chains look stationary.**", "paper-prior-0.3-long"),
    ],
)
def test_a_long_run(words, folder):
    rows, run = rows_after(words), read_dataset(DOCS / "results" / folder).squeeze(["method", "topology", "snr_db"])
    assert len(rows) == 6
    for iteration, *entries in rows:
        now = run.sel(step=int(iteration.replace(",", ""))).mean("agent")
        for name, entry in zip(("sample_accuracy", "rms", "mean_accuracy", "mean_ece"), entries, strict=True):
            values = now[f"{name}_over_steps"]
            wanted = [float(values.mean())] if name == "rms" else values.values.tolist()
            for printed, value in zip(entry.split(", "), wanted, strict=True):
                assert_rounded(printed, value, (iteration, name))


def test_growth_of_rms_in_long_runs():
    loose, tight = (
        read_dataset(DOCS / "results" / name).squeeze(["method", "topology", "snr_db"])
        for name in ("paper-long", "paper-prior-0.3-long")
    )
    last = np.sqrt(1 - np.exp(-2 * 1e-4 * loose.step / 5))
    away = abs(loose.rms_over_steps.mean("agent") - last).sel(step=slice(10_000, None))
    assert float(away.max()) < 0.02
    late = tight.mean("agent").sel(step=slice(10_000, None))
    for words, value in {
        "R-hat is at most 1.007": tight.rhat.max(),
        "over 100,000 iterations R-hat is at most 1.007": tight.rhat.max(),
        "between 0.306 and": late.rms_over_steps.min() - 5e-4,  # rounded down
        "and 0.316. Accuracy": late.rms_over_steps.max() + 5e-4,  # rounded up
        "is 0.08 on average, at most": tight.eta_grad_norm_mean.mean(),
    }.items():
        assert words in STUDY, words
        assert_rounded(re.findall(r"\d\.\d+", words)[0], float(value), words)
    assert f"the ESS at least {int(tight.ess.min())} of" in STUDY
    assert f"on average, at most {float(tight.eta_grad_norm_max.max()):.0f})" in STUDY
    for name in ("mean_accuracy", "mean_ece"):
        change = late[f"{name}_over_steps"].sel(step=100_000) - late[f"{name}_over_steps"].sel(step=15_000)
        assert float(abs(change).max()) <= 0.02


def test_smaller_steps_and_more_objects():
    chain = read_dataset(DOCS / "results" / "paper-sgld-small-step").squeeze(["method", "topology", "snr_db"])
    over_steps = chain.sample_accuracy_over_steps.mean("agent")
    for printed, value in zip(("0.72", "0.73", "0.74"), over_steps.max("step").values, strict=True):
        assert_rounded(printed, float(value), "best single samples")
    assert float(over_steps.sel(step=slice(10_200, None)).max()) < 0.2 < float(over_steps.sel(step=9_900).max())
    more = read_dataset(DOCS / "results" / "paper-more-objects").squeeze()
    printed = {("cd_dsgld:common", "accuracy"): "0.80", ("cd_dsgld:common", "ece"): "0.06"}
    printed |= {("q_dsgd", "accuracy"): "0.81", ("q_dsgd", "ece"): "0.14"}
    for (method, name), text in printed.items():
        assert_rounded(text, float(more[name].sel({"method": method})), (method, name))
    assert "CD-DSGLD has 0.80 at ECE 0.06, Q-DSGD 0.81 at 0.14" in STUDY
    assert "0.72, 0.73 and 0.74" in STUDY


def test_ranges_in_the_summary_and_in_the_text():
    """Words with numbers that are a smallest and a largest mean, each over what its entry averages."""
    graphs, high = ["full", "star", "ring"], [25.0, 30.0]
    common, digital, samplers = "cd_dsgld:common", "q_dsgd", ["cd_dsgld:optimal", "cd_dsgld:common"]

    def cells(folder, name, methods, snr_db, over):
        found = read_dataset(DOCS / "results" / folder)[name]
        return found.sel({"method": methods, "topology": graphs, "snr_db": snr_db}).mean(over)

    every, band, cell = slice(0.0, 30.0), ["seed", "snr_db"], ["seed"]
    for words, values in {
        "ECE 0.11 to 0.16 against 0.22": cells("paper", "ece", samplers, high, band),
        "against 0.22 to 0.23.": cells("paper", "ece", digital, high, band),
        "0.08 to 0.13 against 0.05": cells("paper-prior-0.3", "ece", samplers, high, band),
        "against 0.05 to 0.06: the": cells("paper-prior-0.3", "ece", digital, high, band),
        "lowest, 0.04 to 0.05,": cells("paper", "sample_ece_over_steps", digital, 30.0, ["seed", "agent"]).min("step"),
        "A single sample is less so (ECE 0.05 to 0.09)": cells("paper-prior-0.3", "sample_ece", common, every, cell),
        "information 0.10 to 0.16 nats": cells("paper-prior-0.3", "mutual_information", common, every, cell),
        "entropy of 0.7 to 0.9": cells("paper-prior-0.3", "entropy", common, every, cell),
    }.items():
        assert words in STUDY, words
        smallest, largest = re.findall(r"\d\.\d+", words)[:2]
        assert_rounded(smallest, float(values.min()), words)
        assert_rounded(largest, float(values.max()), words)
    assert "rms(θ) falls to 0.037" in STUDY
    assert_rounded("0.037", float(cells("paper-prior-0.3", "rms", digital, every, [*band, "topology"])), "rms")


def test_signs_of_dishonesty_and_what_chance_does():
    graphs, samplers = ["full", "star", "ring"], ["cd_dsgld:optimal", "cd_dsgld:common"]
    paper, tight, real = (read_dataset(DOCS / "results" / name) for name in ("paper", "paper-prior-0.3", "paper-real"))

    def too_sure(methods, snr_db):
        """Confidence minus accuracy."""
        found = paper.sel({"method": methods, "topology": graphs, "snr_db": snr_db})
        apart = found.bin_count * (found.bin_confidence - found.bin_accuracy).fillna(0)
        return (apart.sum("bin") / found.bin_count.sum("bin")).mean(["seed", "snr_db", "agent"])

    def apart(dataset):
        """Largest difference of one seed's ECE between two policies with all gains 1, hence of one law."""
        found = dataset.sel({"method": samplers, "topology": "full", "snr_db": [20.0, 25.0, 30.0]})
        assert float(found.unit_gain_mean.min()) == 1
        return float(abs(found.ece.diff("method")).max())

    under, over = -too_sure(samplers, [25.0, 30.0]), too_sure("q_dsgd", [30.0])
    same = {"topology": graphs, "snr_db": [25.0, 30.0], "seed": tight.seed.values}
    ece = [each.ece.sel(same).mean(["topology", "snr_db", "seed"]) for each in (paper, tight)]
    single = tight.sel({"method": "cd_dsgld:common", "topology": graphs, "step": slice(5000, None)})
    for words, values in {
        "by 0.11 to 0.16 at": [under.min(), under.max()],
        "its confidence is 0.22 above": [over.mean()],
        "seeds differ by up to 0.21 in ECE, single real splits by up to 0.07": [apart(paper), apart(real)],
        "from 0.14 to 0.11 (optimal)": [each.sel({"method": samplers[0]}) for each in ece],
        "from 0.15 to 0.11 (common)": [each.sel({"method": samplers[1]}) for each in ece],
        "Q-DSGD's from 0.23 to 0.05": [each.sel({"method": "q_dsgd"}) for each in ece],
        "their mean is right\n0.76 of": [tight.accuracy.sel({"method": "cd_dsgld:common", "topology": graphs}).mean()],
    }.items():
        assert words in STUDY, words
        for printed, value in zip(re.findall(r"\d\.\d+", words), values, strict=True):
            assert_rounded(printed, float(value), words)
    assert "below 0.47 accuracy (common gain)" in STUDY
    assert float(single.sample_accuracy_over_steps.mean("agent").min()) > 0.47
