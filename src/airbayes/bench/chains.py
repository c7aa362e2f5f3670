"""Section c: steps per second of one SGLD chain, logistic regression with 100 parameters, full gradients.

Each package in the form its users are told to take: a compiled loop for airbayes and blackjax, in-place updates for
posteriors. All take the same model, data and step size, and the gradient of all examples at every step.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from airbayes.bench import peers
from airbayes.bench.loops import CompiledLoop
from airbayes.bench.rows import Row
from airbayes.bench.sizes import Sizes
from airbayes.bench.timing import Timing, Work, time_together
from airbayes.models import FullGradient, GaussianPrior, LocalData, Posterior, SoftmaxRegression
from airbayes.samplers import SGLD

GROUP = "c chain"
ETA = 1e-3


def run_chains(sizes: Sizes, tell: Callable[[str], None]) -> Iterator[Row]:
    model = SoftmaxRegression(sizes.chain_features, 2)
    data = make_data(model, sizes.chain_examples)
    name = f"{model.num_params} parameters, {sizes.chain_examples} examples"
    tell(f"{name}: compiling")
    works: dict[str, Work] = {"airbayes": airbayes_work(model, data)}
    absent: dict[str, str] = {}
    makers = {"blackjax": blackjax_work, "posteriors": posteriors_work}
    for peer, make in makers.items():
        try:
            works[peer] = peers.prepare(lambda make=make: make(model, data))
        except peers.PeerAbsent as reason:
            absent[peer] = str(reason)
    tell(f"{name}: timing {', '.join(works)}")
    found = time_together(works, sizes.effort)
    ours = found["airbayes"]
    yield Row(GROUP, name, "steps/s", 1 / ours.least, repeats=ours.repeats, ours_median=1 / ours.median)
    for peer in makers:
        if peer in absent:
            yield Row(GROUP, f"{name} / {peer}", "steps/s", peer_name=peer, skipped=absent[peer])
        else:
            yield _rates(f"{name} / {peer}", ours, peer, found[peer])


def _rates(name: str, ours: Timing, peer_name: str, peer: Timing) -> Row:
    return Row(
        GROUP,
        name,
        "steps/s",
        ours=1 / ours.least,
        peer=1 / peer.least,
        ratio=peer.least / ours.least,
        repeats=ours.repeats,
        ours_median=1 / ours.median,
        peer_median=1 / peer.median,
        peer_name=peer_name,
    )


def make_data(model: SoftmaxRegression, examples: int) -> LocalData:
    """One agent with normal features and labels of a random line."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(1, examples, model.num_features)).astype(np.float32)
    labels = (inputs @ rng.normal(size=model.num_features) > 0).astype(np.int32)
    return LocalData(jnp.asarray(inputs), jnp.asarray(labels), jnp.ones((1, examples)))


def start_of(model: SoftmaxRegression) -> jax.Array:
    return model.init(jax.random.key(0))


def airbayes_work(model: SoftmaxRegression, data: LocalData) -> Work:
    sampler = SGLD(FullGradient(Posterior(model.log_likelihood, GaussianPrior(), 1)), ETA)
    with jax.default_matmul_precision("highest"):  # no TF32 on a GPU, as for the others
        return _compiled(
            CompiledLoop(
                lambda step, state, fixed: fixed[0].step(fixed[1], state, fixed[2]),
                sampler.init(start_of(model)[None]),
                (sampler, jax.random.key(1), data),
                evolving=True,
            )
        )


def blackjax_work(model: SoftmaxRegression, data: LocalData) -> Work:
    blackjax = peers.load("blackjax")
    prior = GaussianPrior()

    def log_density(theta, batch):
        return jnp.sum(model.log_likelihood(theta, *batch)) + prior(theta)

    kernel = blackjax.sgld(jax.grad(log_density))

    def step(index, position, fixed):
        key, batch = fixed
        return kernel.step(jax.random.fold_in(key, index), position, batch, ETA), None

    batch = (data.inputs[0], data.targets[0])
    with jax.default_matmul_precision("highest"):
        return _compiled(CompiledLoop(step, start_of(model), (jax.random.key(1), batch), evolving=True))


def _compiled(loop: CompiledLoop) -> CompiledLoop:
    """Compile now, while the precision asked for holds."""
    loop.compilation()
    return loop


def posteriors_work(model: SoftmaxRegression, data: LocalData) -> Work:
    torch = peers.load_torch()
    posteriors = peers.load("posteriors")
    device = peers.torch_device()
    inputs = torch.as_tensor(np.array(data.inputs[0])).to(device)
    labels = torch.as_tensor(np.array(data.targets[0])).long().to(device)
    table = torch.as_tensor(np.array(start_of(model))).reshape(-1, model.num_classes).to(device)
    nothing = torch.tensor([], device=device)

    def log_posterior(params: Any, batch: Any) -> Any:
        scores = batch[0] @ params[:-1] + params[-1]
        likelihood = -torch.nn.functional.cross_entropy(scores, batch[1], reduction="sum")
        return likelihood - 0.5 * (params * params).sum(), nothing

    transform = posteriors.sgmcmc.sgld.build(log_posterior, lr=ETA)
    state = transform.init(table)

    def once() -> None:
        nonlocal state
        state, _ = transform.update(state, (inputs, labels), inplace=True)

    return peers.torch_loop(torch, once)
