"""The same PointNet as one would write it in PyTorch, and the ways to get all agents' gradients from it.

Importing this file needs torch. The gradients equal airbayes' (tests/bench): the sum over an agent's clouds plus 1/N of
the prior, which is added the way weight decay is, without autograd, because that is faster for torch.
"""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from airbayes.bench.peers import torch_device
from airbayes.bench.pointnet_case import PointNetCase

torch: Any = importlib.import_module("torch")
nn: Any = torch.nn

COMPILE_MODE = {"cpu": "default", "cuda": "reduce-overhead"}
Grads = Callable[[], Any]  # computes the gradients of all agents


def max_values(x: Any) -> Any:
    """The maximum over points, faster than `amax` without torch.compile: its gradient goes to one winner."""
    return x.max(dim=-2).values


def amax(x: Any) -> Any:
    """The maximum over points, faster than `max` with torch.compile on a CPU."""
    return x.amax(dim=-2)


class CloudEncoder(nn.Module):
    """width→8→16→128, max over points, →64→32→out."""

    def __init__(self, width: int, out: int, pool: Callable[[Any], Any]):
        super().__init__()
        self.pool = pool
        self.points = nn.Sequential(
            nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 128), nn.ReLU()
        )
        self.cloud = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, out))

    def forward(self, x: Any) -> Any:
        return self.cloud(self.pool(self.points(x)))


class PointNet(nn.Module):
    """Parameters in the order of airbayes' θ."""

    def __init__(self, num_classes: int, pool: Callable[[Any], Any] = max_values):
        super().__init__()
        self.tnet_input = CloudEncoder(3, 9, pool)
        self.shared = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
        self.tnet_feature = CloudEncoder(8, 64, pool)
        self.head = CloudEncoder(8, num_classes, pool)

    def forward(self, clouds: Any) -> Any:
        x = self.shared(clouds @ self.tnet_input(clouds).unflatten(-1, (3, 3)))
        return self.head(x @ self.tnet_feature(x).unflatten(-1, (8, 8)))


class TorchCase:
    """One or many cells as torch tensors: a module per agent, clouds [agent, cloud, point, 3], their labels."""

    def __init__(self, case: PointNetCase):
        device, agents = torch_device(), case.theta.shape[1]
        self.prior_share = 1.0 / agents
        rows = np.asarray(case.theta).reshape(-1, case.theta.shape[-1])
        self.modules = [load_theta(PointNet(case.model.num_classes), row).to(device) for row in rows]
        self.clouds, self.labels = (
            torch.as_tensor(np.array(array)).flatten(0, 1).to(device) for array in (case.data.inputs, case.data.targets)
        )
        self.labels = self.labels.long()

    def loop(self) -> Grads:
        """One agent after the other, loss and autograd: what a first version looks like."""
        params = [list(module.parameters()) for module in self.modules]

        def grads() -> Any:
            found = []
            for agent, module in enumerate(self.modules):
                loss = nn.functional.cross_entropy(module(self.clouds[agent]), self.labels[agent], reduction="sum")
                one = torch.autograd.grad(loss, params[agent])
                with torch.no_grad():
                    found.append(torch._foreach_add(one, params[agent], alpha=self.prior_share))
            return found

        return grads

    def vmapped(self, *, compiled: bool = False) -> Grads:
        """torch.func: vmap over agents of grad of the stateless module; compiled with CUDA graphs on a GPU."""
        params, buffers = torch.func.stack_module_state(self.modules)
        stateless = PointNet(self.modules[0].head.cloud[-1].out_features, amax if compiled else max_values).to("meta")

        def loss(one: Any, clouds: Any, labels: Any) -> Any:
            scores = torch.func.functional_call(stateless, (one, buffers), (clouds,))
            return nn.functional.cross_entropy(scores, labels, reduction="sum")

        def every(params: Any, clouds: Any, labels: Any) -> Any:
            found = torch.func.vmap(torch.func.grad(loss))(params, clouds, labels)
            return {name: found[name] + self.prior_share * params[name] for name in found}

        run = torch.compile(every, mode=COMPILE_MODE[torch_device()]) if compiled else every
        params = {name: value.detach() for name, value in params.items()}
        return lambda: run(params, self.clouds, self.labels)


def load_theta(module: Any, theta: Float[np.ndarray, " param"]) -> Any:
    """Put a flat θ into the module: kernel [in, out] before bias, where torch has [out, in]."""
    begin = 0
    with torch.no_grad():
        for param in module.parameters():
            values = theta[begin : begin + param.numel()]
            begin += param.numel()
            shaped = values.reshape(tuple(param.shape)[::-1]).T
            param.copy_(torch.as_tensor(np.array(shaped)))
    return module


def flatten_grads(tensors: Any) -> Float[np.ndarray, " param"]:
    """Back to the layout of θ; `tensors` are one agent's, in the order of the module's parameters."""
    return np.concatenate([np.asarray(tensor.detach().cpu()).T.ravel() for tensor in tensors])
