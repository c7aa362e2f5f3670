"""What the names on a page mean, for someone who has not read the paper."""

from airbayes.report.html.parts import Cell, Table
from airbayes.report.html.runs import Run
from airbayes.report.style import short

_AIR = "Samples over the air: all agents send at once, the channel adds them up, and its noise does the sampling."
MEANINGS = {
    "cd_dsgld:optimal": f"{_AIR} Whose power does not suffice turns its own signal down, with the paper's gains.",
    "cd_dsgld:truncated": f"{_AIR} Whose power does not suffice turns its own signal down, as far as it must.",
    "cd_dsgld:common": f"{_AIR} Where the power of one does not suffice, all turn down alike, by one agreed gain.",
    "q_dsgd": "Digital: agents send as bits what fits of their models, and seek one best model; nothing is sampled.",
    "dsgld": "Samples over ideal links, with noise that every agent draws itself.",
    "dsghmc": "Samples over ideal links, with momentum.",
    "dsgd": "Seeks one best model over ideal links; nothing is sampled.",
    "sgld": "Samples with all data in one place, without a network.",
    "local_sgld": "Every agent samples alone, from its own data.",
    "local_sgd": "Every agent alone seeks one best model, from its own data.",
}


def glossary(run: Run) -> Table:
    """The run's methods, and what is counted on top of the page."""
    rows = [(Cell(short(name), name), MEANINGS[name]) for name in run.variants if name in MEANINGS]
    rows += [
        ("graph", "Who hears whom: the links between the agents."),
        ("SNR", "How strong a signal at full power is against the receiver's noise, in decibels."),
        ("seed", "One repetition, with data, start and noise drawn anew."),
        ("cell", "One method on one graph at one SNR with one seed."),
    ]
    return Table("Methods, and what is counted", ("name", "what it is"), tuple(rows), words=(0, 1))
