"""Peers compute the same thing as we do, and are skipped with a reason where they are missing."""

import importlib.abc
import sys

import jax
import numpy as np
import pytest

from airbayes.bench import peers
from airbayes.bench.chains import make_data, run_chains
from airbayes.bench.gradient import run_gradient
from airbayes.bench.pointnet_case import make_case
from airbayes.bench.sizes import Sizes
from airbayes.bench.timing import Effort
from airbayes.models import SoftmaxRegression

TINY = Sizes(
    agents=2,
    clouds=2,
    points=16,
    chain_examples=8,
    compile_peers=False,
    effort=Effort(repeats=1, call_seconds=0.0, least_count=1),
)


class Blocker(importlib.abc.MetaPathFinder):
    """An environment without some packages."""

    def __init__(self, *names: str):
        self.names = names

    def find_spec(self, fullname, path=None, target=None):
        if fullname.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def block(monkeypatch, *names: str) -> None:
    for loaded in list(sys.modules):
        if loaded.split(".")[0] in names or loaded == "airbayes.bench.torch_pointnet":
            monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(sys, "meta_path", [Blocker(*names), *sys.meta_path])


def test_gradient_without_torch(monkeypatch):
    block(monkeypatch, "torch")
    rows = list(run_gradient(TINY, lambda text: None))
    ours, *others = rows
    assert ours.ours is not None
    assert not ours.skipped
    loop = next(row for row in others if row.peer_name == "torch loop")
    assert loop.skipped == "torch is not installed (pip install torch)"
    assert loop.ours is loop.peer is loop.ratio is None


def test_chain_without_peers(monkeypatch):
    block(monkeypatch, "torch", "blackjax", "posteriors")
    ours, blackjax, posteriors = run_chains(TINY, lambda text: None)
    assert ours.ours is not None
    assert blackjax.skipped == "blackjax is not installed (pip install blackjax)"
    assert posteriors.skipped == "torch is not installed (pip install torch)"


def test_a_peer_that_fails_is_skipped_with_its_error():
    def make():
        raise RuntimeError("no compiler found\nlong story")

    with pytest.raises(peers.PeerAbsent, match=r"^failed with RuntimeError: no compiler found$"):
        peers.prepare(make)


def test_torch_gradients_equal_ours():
    pytest.importorskip("torch", reason="torch is not installed")
    peers.load_torch()
    from airbayes.bench.torch_pointnet import TorchCase, flatten_grads

    case = make_case(3, 4, 16, cells=2)
    ours = np.asarray(jax.vmap(lambda theta, data: case.gradient(None, theta, data))(case.theta, case.data))
    ours = ours.reshape(6, -1)
    other = TorchCase(case)
    loop = np.stack([flatten_grads(one) for one in other.loop()()])
    stacked = other.vmapped()()
    vmapped = np.stack([flatten_grads([stacked[name][agent] for name in stacked]) for agent in range(6)])
    scale = np.abs(ours).max()
    assert scale > 0.1
    np.testing.assert_allclose(loop, ours, rtol=0, atol=1e-4 * scale)
    np.testing.assert_allclose(vmapped, ours, rtol=0, atol=1e-4 * scale)


def test_chain_data_is_logistic_regression_with_100_parameters():
    model = SoftmaxRegression(Sizes().chain_features, 2)
    assert model.num_params == 100
    data = make_data(model, 64)
    assert set(np.unique(data.targets)) == {0, 1}
