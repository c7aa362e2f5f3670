"""The two pictures of docs/noise.md and docs/calibration.md:  python examples/05_concept_pictures.py docs/figures"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from airbayes import metrics, models, network, power, samplers
from airbayes.channel import AWGN

GREEN, ORANGE, GREY = "#009E73", "#D55E00", "#777777"
AGENTS, NOISE_STD, ETA = 4, 0.5, 1e-3


def line_data() -> models.LocalData:
    """Four agents see different stretches of one line y = 0.5 + 2x; inputs are rows (1, x)."""
    rng = np.random.default_rng(0)
    xs = [rng.uniform(k / 2 - 1, k / 2 - 0.5, size=8) for k in range(AGENTS)]
    inputs = [np.stack([np.ones_like(x), x], axis=1).astype(np.float32) for x in xs]
    targets = [(0.5 + 2.0 * x + rng.normal(0, NOISE_STD, size=x.size)).astype(np.float32) for x in xs]
    return models.stack_agents(inputs, targets)


def draw(sampler: samplers.Sampler, data: models.LocalData, steps: int = 3000) -> np.ndarray:
    """θ of agent 0 over the steps, [chain, step, param], of eight independent chains."""

    def chain(key):
        def step(state, _):
            state, _info = sampler.step(key, state, data)
            return state, state.theta[0]

        return jax.lax.scan(step, sampler.init(jnp.zeros((AGENTS, 2))), length=steps)[1]

    return np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), 8)))


def noise_picture() -> Figure:
    data = line_data()
    line = models.LinearRegression(num_params=2, noise_std=NOISE_STD)
    gradient = models.FullGradient(models.Posterior(line.log_likelihood, models.GaussianPrior(), AGENTS))
    ring = network.build_mixing(network.ring(AGENTS))
    mean, cov = models.gaussian_posterior(*models.quadratic_potentials(data, NOISE_STD))

    def over_the_air(snr_db: float, policy: power.PowerPolicy) -> np.ndarray:
        return draw(samplers.CDDSGLD(gradient, ring, AWGN(snr_db), policy, step_size=ETA), data)

    figure = Figure(figsize=(11, 3.7), layout="constrained")
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    quiet = draw(samplers.DSGD(gradient, ring, step_size=ETA), data)
    panels[0].plot(*quiet[0].T, color=GREY, lw=1.5, label="path")
    panels[0].plot(*quiet[0, -1], "o", color=GREY, label="end: one answer")
    panels[0].set_title("No noise: an optimiser")
    panels[1].plot(*over_the_air(30.0, power.Common())[:, 1000::25].reshape(-1, 2).T, ".", color=GREEN, ms=3, alpha=0.6)
    panels[1].set_title("The receiver's noise, 30 dB: samples")
    for policy, colour, name in [
        (power.Optimal(), ORANGE, "paper's gains"),
        (power.Common(), GREEN, "one common gain"),
    ]:
        cloud = over_the_air(10.0, policy)[:, 1000::25].reshape(-1, 2)
        panels[2].plot(*cloud.T, ".", color=colour, ms=3, alpha=0.6, label=name)
    panels[2].set_title("Too little power, 10 dB")
    angle = np.linspace(0, 2 * np.pi, 200)
    ellipse = mean[:, None] + np.sqrt(5.991) * np.linalg.cholesky(cov) @ np.stack([np.cos(angle), np.sin(angle)])
    for panel in panels:
        panel.plot(*ellipse, color="black", lw=1, label="posterior, 95 %")
        panel.set_xlabel("intercept")
        panel.legend(loc="lower right", fontsize=8)
    panels[0].set_ylabel("slope")
    return figure


def reliability(panel: Axes, probabilities: np.ndarray, labels: np.ndarray, title: str) -> None:
    p, y = jnp.asarray(probabilities, jnp.float32), jnp.asarray(labels)
    bins = metrics.reliability_bins(p, y, bins=10)
    some = np.asarray(bins.count) > 0
    width = np.asarray(bins.upper - bins.lower)[some]
    panel.bar(
        np.asarray(bins.lower)[some], np.asarray(bins.accuracy)[some], width, align="edge", color=GREEN, ec="white"
    )
    panel.plot([0, 1], [0, 1], color="black", lw=1)
    score = f"accuracy {metrics.accuracy(p, y):.2f}, ECE {bins.ece():.2f}, NLL {metrics.nll(p, y):.2f}"
    panel.set(xlim=(0, 1), ylim=(0, 1), xlabel="confidence")
    panel.set_title(f"{title}\n{score}", fontsize=10)


def calibration_picture() -> Figure:
    rng = np.random.default_rng(1)

    def made_up(examples: int) -> tuple[np.ndarray, np.ndarray]:
        """True class probabilities of every example, and labels drawn from them: a perfect model knows these."""
        truth = rng.dirichlet(np.full(4, 0.4), size=examples)
        return truth, (truth.cumsum(axis=1) < rng.uniform(size=(examples, 1))).sum(axis=1).clip(max=3)

    truth, labels = made_up(4000)
    bold = truth**4 / (truth**4).sum(axis=1, keepdims=True)
    shares = np.tile(np.bincount(labels, minlength=4) / len(labels), (len(labels), 1))
    figure = Figure(figsize=(13, 3.6), layout="constrained")
    panels = figure.subplots(1, 4)
    reliability(panels[0], truth, labels, "Perfect")
    reliability(panels[1], bold, labels, "The same, four times too bold")
    reliability(panels[2], shares, labels, "Knows the class shares, nothing else")
    panels[0].set_ylabel("share that is right")
    sizes, found = [50, 100, 200, 500, 1000, 2000, 5000], []
    for size in sizes:
        drawn, hit = zip(*[made_up(size) for _ in range(100)], strict=True)
        found.append(jax.vmap(metrics.ece)(jnp.asarray(np.stack(drawn), jnp.float32), jnp.asarray(np.stack(hit))))
    low, middle, high = np.quantile(np.stack(found), [0.05, 0.5, 0.95], axis=1)
    panels[3].fill_between(sizes, low, high, color=GREEN, alpha=0.3, label="90 % of test sets")
    panels[3].plot(sizes, middle, color=GREEN, label="median")
    panels[3].set(xscale="log", xlabel="test examples", ylim=(0, None))
    panels[3].set_title("ECE of the perfect model\n(15 bins)", fontsize=10)
    panels[3].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)  # before the work: a folder that cannot be made is found out at once
    noise_picture().savefig(folder / "noise.png", dpi=90)
    calibration_picture().savefig(folder / "calibration.png", dpi=90)
    print(f"Written to {folder}: noise.png, calibration.png")
