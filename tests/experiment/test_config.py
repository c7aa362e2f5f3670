"""Configuration files: complete, strict, and all complaints at once."""

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.errors import ConfigError
from airbayes.experiment.cells import enumerate_cells, group_by_variant
from airbayes.experiment.config import ChannelConfig, ExperimentConfig, NetworkConfig, SamplingConfig
from airbayes.experiment.presets import PRESETS, preset
from airbayes.experiment.toml_io import changed_fields, dump_config, load_config, parse_config
from airbayes.experiment.validate import check_config, find_problems


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_are_valid_and_survive_a_round_trip(name):
    config = preset(name)
    missing = [problem for problem in find_problems(config) if "--lidar.source FILE.npz" not in problem]
    assert missing == []
    assert bool(find_problems(config)) == (name == "paper-real")  # whose object set is the user's to name
    assert parse_config(dump_config(config)) == config
    assert changed_fields(config, parse_config(dump_config(config))) == []


def test_unknown_preset_suggests_the_nearest():
    with pytest.raises(ConfigError, match="Did you mean gaussian"):
        preset("gausian")


def test_every_wrong_name_and_type_is_reported():
    text = 'metods = ["sgld"]\nseeds = "three"\n[sampling]\nsteps = 1.5\nburnin = 3\ndrift = "none"\n'
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "x.toml")
    found = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 5
    for expected in (
        "metods. Did you mean methods?",
        "sampling.burnin. Did you mean sampling.burn_in?",
        "seeds = 'three' must be of type int",
        "sampling.steps = 1.5 must be of type int",
        "sampling.drift = 'none' must be one of plain, tamed, clipped",
    ):
        assert expected in found


def test_the_fix_of_a_wrong_type_is_itself_right():
    text = '[problem]\nfeatures = "3"\n[sampling]\nsteps = 1e4\neta = "1e-3"\n[channel]\nsnr_db = "0, 10"\n'
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "x.toml")
    found = "\n".join(caught.value.problems)
    for fix in ("quotes: 3", "exponent: 10000", "quotes: 1e-3", "must be a list, for example [0, 10]."):
        assert fix in found
    parse_config(
        "[problem]\nfeatures = 3\n[sampling]\nsteps = 10000\neta = 1e-3\n[channel]\nsnr_db = [0, 10]\n", "x.toml"
    )


def test_every_impossible_value_is_reported_at_once():
    config = ExperimentConfig(
        seeds=0,
        network=NetworkConfig(topologies=("full", "rng", "full")),
        channel=ChannelConfig(snr_db=(float("nan"), 3.0), power=-1.0),
        sampling=SamplingConfig(eta=float("nan"), steps=100, burn_in=100),
    )
    found = "\n".join(find_problems(config))
    for expected in (
        "seeds = 0",
        "network.topologies lists full more than once",
        "network.topologies: rng",
        "Did you mean",
        "channel.snr_db holds nan",
        "channel.power = -1.0",
        "sampling.eta = nan",
        "sampling.burn_in = 100 leaves no sample",
    ):
        assert expected in found
    with pytest.raises(ConfigError) as caught:
        check_config(config)
    assert len(caught.value.problems) == 7


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("steps = 5", "unknown setting steps. Did you mean sampling.steps?"),
        ("eta = 5", "unknown setting eta. Did you mean sampling.eta or momentum.eta?"),
        ("stepz = 5", "unknown setting stepz. Did you mean sampling.steps?"),
        ("sampling.agents = 5", "unknown setting sampling.agents. Did you mean network.agents?"),
        ("zzz = 5", "unknown setting zzz. Known: name, methods"),
        ("problem.kind = 'linaer'", "mlp, pointnet. Did you mean linear?"),
        (
            "policies = ['commn']",
            "must be one of optimal, truncated, common. Did you mean common?",
        ),
        ("methods = ['CD-DSGLD']", "local_sgd. Did you mean cd_dsgld?"),
        ("methods = ['my_sampler']", "local_sgd. Parts of your own run from Python: docs/plugins.md."),
    ],
)
def test_what_may_be_meant(text, says):
    with pytest.raises(ConfigError, match=re.escape(says)):
        parse_config(text)


def test_metropolis_and_large_optimal_are_refused_for_channel_driven_runs():
    config = ExperimentConfig(network=NetworkConfig(weights="metropolis"))
    assert any("metropolis" in line and "one weight" in line for line in find_problems(config))
    large = ExperimentConfig(network=NetworkConfig(agents=600, topologies=("ring",)))
    assert any("512 agents" in line for line in find_problems(large))


def test_csv_graphs_are_checked(tmp_path: Path):
    file = tmp_path / "two-islands.csv"
    file.write_text("0,1\n2,3\n3,4\n")
    config = ExperimentConfig(network=NetworkConfig(topologies=(str(file),)))
    assert any("components" in line or "connected" in line for line in find_problems(config))
    file.write_text("0,1\n1,2\n2,3\n")
    assert any("4 agents but network.agents = 5" in line for line in find_problems(config))


def test_a_byte_order_mark_is_passed_over(tmp_path: Path):
    file = tmp_path / "study.toml"
    file.write_bytes(b"\xef\xbb\xbfseeds = 2\r\n")  # as editors of Windows write
    assert load_config(file).seeds == 2


@pytest.mark.parametrize("content", [b"seeds = [", b"\xff\xfe\x00", b"seeds = 1\nseeds = 2"])
def test_malformed_files_name_the_file(tmp_path: Path, content):
    file = tmp_path / "broken.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"broken\.toml"):
        load_config(file)


@pytest.mark.parametrize(
    ("line", "fix"),
    [("kind = linear", '. Text stands in quotes: kind = "linear"'), ("seeds = 3", ""), ("snr_db = 10 dB", "")],
)
def test_what_is_not_toml_is_shown_with_its_line(line, fix):
    with pytest.raises(ConfigError, match=rf"not valid TOML: .*\(at line 2, column \d+\): {line}{fix}$"):
        parse_config(f"seeds = 2\r\n  {line}\nname = 'x'\n")


def test_missing_and_oversized_files(tmp_path: Path):
    with pytest.raises(ConfigError, match="No such file"):
        load_config(tmp_path / "absent.toml")
    big = tmp_path / "big.toml"
    big.write_text("#" * 1_000_001)
    with pytest.raises(ConfigError, match="at most 1,000,000"):
        load_config(big)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode()))
def test_any_text_gives_a_config_or_a_config_error(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("fuzz") / "any.toml"
    file.write_bytes(content)
    problems = []
    try:
        config = load_config(file)
    except ConfigError as error:
        config, problems = None, error.problems
    assert isinstance(config, ExperimentConfig) or problems


def test_cells_cover_the_grid_once():
    config = dataclasses.replace(preset("gaussian"), seeds=2)
    cells = enumerate_cells(config)
    assert len(cells) == len(set(cells)) == 2 * (1 + 3 + 3 + 3 * 3 * 9)
    assert {cell.snr_db for cell in cells if cell.method == "dsgld"} == {None}
    assert [len(group) for group in group_by_variant(cells).values()] == [2, 6, 6, 54, 54, 54]


def test_no_agents_is_one_problem():
    config = ExperimentConfig(network=NetworkConfig(agents=0))
    assert find_problems(config) == ["network.agents = 0 must be at least 1 and at most 1,000,000."]
