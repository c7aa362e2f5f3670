"""The parts of a sampler's step, each as a function (step, θ, rest) of its own: what the whole step puts together."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from airbayes.bench.pointnet_case import PointNetCase
from airbayes.channel import AWGN
from airbayes.channel.rate import bits_per_block
from airbayes.compress import TopTQSGD, largest_t
from airbayes.keys import Purpose, agent_keys, normal_rows
from airbayes.models import FullGradient, GaussianPrior, Posterior
from airbayes.network import Graph, build_mixing, mix
from airbayes.power import gain_caps, policy_by_name, receiver_scale
from airbayes.samplers import CDDSGLD, DSGD, DSGHMC, DSGLD, QDSGD, SGLD, Sampler, Tamed
from airbayes.samplers.cd_dsgld import common_neighbours, over_the_air_mix
from airbayes.samplers.q_dsgd import memory_update

Part = Callable[[Any, Any, Any, Any, Any], Any]  # (key, step, sampler, θ, data) of one cell

ETA, FRICTION, VALUE_BITS = 1e-4, 1.0, 10
POLICIES = ("optimal", "common", "truncated")


def make_samplers(case: PointNetCase, graph: Graph, snr_db: float) -> dict[str, Sampler]:
    """Every method on one graph at one SNR, with the drift of the paper's study."""
    gradient, mixing, drift = case.gradient, build_mixing(graph, layout="table"), Tamed()
    bits = bits_per_block(case.model.num_params, snr_db, graph.degrees)
    top_t = largest_t(case.model.num_params, bits, VALUE_BITS)
    gamma = float(top_t.min()) / case.model.num_params
    alone = FullGradient(Posterior(case.model.log_likelihood, GaussianPrior(), 1))
    samplers: dict[str, Sampler] = {"sgld": SGLD(alone, ETA, drift), "dsgld": DSGLD(gradient, mixing, ETA, drift)}
    for name in POLICIES:
        samplers[f"cd_dsgld {name}"] = CDDSGLD(gradient, mixing, AWGN(snr_db), policy_by_name(name), ETA, drift)
    samplers["dsghmc"] = DSGHMC(gradient, mixing, ETA, FRICTION, drift)
    samplers["dsgd"] = DSGD(gradient, mixing, ETA, drift)
    counts = jnp.asarray(np.asarray(top_t), jnp.int32)
    compressor = TopTQSGD(VALUE_BITS, most=int(top_t.max()))  # as an experiment builds it
    samplers["q_dsgd"] = QDSGD(gradient, mixing, counts, ETA, gamma, compressor=compressor, drift=drift)
    return samplers


def parts_of(sampler: Sampler) -> dict[str, Part]:
    """Gradient, mixing, power control, noise, compression: those this sampler has."""
    parts: dict[str, Part] = {"gradient": _gradient}
    if isinstance(sampler, DSGLD | DSGD | DSGHMC):
        parts["mixing"] = lambda key, step, sampler, theta, data: mix(theta, sampler.mixing)
    if isinstance(sampler, SGLD | DSGLD | DSGHMC):
        parts["noise"] = _langevin_noise
    if isinstance(sampler, CDDSGLD):
        parts |= {"mixing": _radio_mixing, "power control": _power_control, "noise": _channel_noise}
    if isinstance(sampler, QDSGD):
        parts |= {"mixing": _memory_mixing, "compression": _compression}
    return parts


def _gradient(key: Any, step: Any, sampler: Any, theta: Any, data: Any) -> Any:
    return sampler.gradient(agent_keys(key, step, Purpose.BATCH, len(theta)), theta, data)


def _langevin_noise(key: Any, step: Any, sampler: Any, theta: Any, data: Any) -> Any:
    return normal_rows(agent_keys(key, step, Purpose.LANGEVIN, len(theta)), theta.shape[1])


def _channel_noise(key: Any, step: Any, sampler: CDDSGLD, theta: Any, data: Any) -> Any:
    return sampler.channel.noise(agent_keys(key, step, Purpose.CHANNEL, len(theta)), theta.shape[1])


def _power_control(key: Any, step: Any, sampler: CDDSGLD, theta: Any, data: Any) -> Any:
    beta = receiver_scale(sampler.channel.noise_power, sampler.step_size(step))
    assert sampler.mixing.edge_weight is not None
    caps = gain_caps(theta, sampler.mixing.edge_weight, sampler.channel.power, beta)
    common = common_neighbours(sampler.mixing) if sampler.policy.needs_common_neighbours else None
    return sampler.policy(theta, caps, common)


def _radio_mixing(key: Any, step: Any, sampler: CDDSGLD, theta: Any, data: Any) -> Any:
    """With gains that need no solving: those of `truncated` at caps that come from nothing but the step."""
    caps = jnp.full(len(theta), 1.0 - 1e-6 * step)
    return over_the_air_mix(theta, policy_by_name("truncated")(theta, caps), sampler.mixing)


def _memory_mixing(key: Any, step: Any, sampler: QDSGD, theta: Any, data: Any) -> Any:
    return memory_update(theta, theta, sampler.consensus_step, sampler.mixing)


def _compression(key: Any, step: Any, sampler: QDSGD, theta: Any, data: Any) -> Any:
    keys = agent_keys(key, step, Purpose.QUANTISE, len(theta))
    return jax.vmap(sampler.compressor)(keys, theta, sampler.top_t)
