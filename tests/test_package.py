"""The package at first sight: its parts, and that it has types."""

import importlib.resources
import tomllib
from pathlib import Path

import pytest
from unchecked import answers

import airbayes


def test_sub_packages_are_attributes():
    assert airbayes.samplers.DSGLD.__module__ == "airbayes.samplers.dsgld"
    assert {"models", "network", "samplers"} <= set(dir(airbayes))
    for name in airbayes.__all__:
        assert getattr(airbayes, name).__name__ == f"airbayes.{name}"


def test_names_of_the_notation_are_found_where_it_says():
    names = ["airbayes.channel.rate.sinr", "airbayes.channel.link_budget.received_snr_db", "airbayes.power.box_qp"]
    assert set(answers("import airbayes", names).values()) == {"no error"}


def test_what_it_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"no attribute 'sampler'; its parts are channel, .*samplers"):
        _ = airbayes.sampler  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(airbayes, "__wrapped__")


def test_its_docstring_says_where_to_start():
    assert airbayes.__doc__
    assert "Start with `models`" in airbayes.__doc__


def test_it_says_that_it_has_types():
    assert importlib.resources.files("airbayes").joinpath("py.typed").is_file()


def test_the_source_distribution_has_what_make_needs():
    """README.md begins with `make run`, and the Makefile installs with constraints.txt."""
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {"Makefile", "constraints.txt", "src", "tests", "docs", "mkdocs.yml", "README.md"}
    assert wanted <= set(settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
