"""Names from files are text: no markup, no escape codes, no formulas, in tables, CSV files, figures and errors."""

import io

import pytest
from report.made_results import made_results
from rich.console import Console

from airbayes.cli.main import main
from airbayes.cli.progress import make_console
from airbayes.report.accuracy_figure import accuracy_figure
from airbayes.report.tables import cells_csv, snr_tables
from airbayes.text import for_figure, for_spreadsheet, printable

NAMES = ("[red]x[/red].csv", "=1+1.csv", r"$\frac{.csv")


def test_tables_and_csv_show_names_as_they_are():
    dataset = made_results(graphs=NAMES, seeds=1)
    out = io.StringIO()
    made = make_console()
    console = Console(file=out, width=200, markup=made._markup, emoji=made._emoji)
    for table in snr_tables(dataset, "accuracy", "accuracy", 200):
        console.print(table)
    console.print("[bold]:car:")
    assert all(name in out.getvalue() for name in (*NAMES, "[bold]:car:"))
    lines = cells_csv(dataset).splitlines()
    assert any(",'=1+1.csv," in line for line in lines)
    assert not any(",=1" in line for line in lines)


def test_a_dollar_in_a_name_does_not_stop_a_figure():
    dataset = made_results(graphs=NAMES, seeds=1)
    dataset["nll"] = dataset["ece"]
    for name in ("accuracy", "ece", "nll"):
        dataset[f"{name}_per_agent"] = dataset[name].expand_dims(agent=[0], axis=-1)
    dataset.attrs["experiment"] = r"$\broken{"
    figure = accuracy_figure(dataset, {})
    figure.savefig(io.BytesIO(), format="svg")
    assert for_figure("a$b$") == r"a\$b\$"


@pytest.mark.parametrize("name", ["a\x1b[31mb.toml", "a\nerror: all is well.toml", "a\udcffb.toml"])
def test_control_characters_never_reach_the_terminal(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["run", name])
    assert stopped.value.code == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert shown.rstrip("\n").isprintable()


def test_text():
    assert printable("a\x1b[31m\n\u202eb") == "a?[31m??b"
    assert for_spreadsheet("@SUM(A1)") == "'@SUM(A1)"
    assert for_spreadsheet(-1.5) == -1.5
