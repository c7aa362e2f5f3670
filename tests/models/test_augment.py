"""Augmentation keeps what it must and changes what it says."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.models import Augmentation, AugmentedGradient, FullGradient, GaussianPrior, Posterior, pointnet
from airbayes.models.local_data import stack_agents

CLOUDS = jax.random.normal(jax.random.key(0), (500, 16, 3))


def test_a_turn_keeps_heights_and_distances_and_covers_the_circle():
    turned = Augmentation(yaw=np.pi)(jax.random.key(1), CLOUDS)
    np.testing.assert_array_equal(turned[..., 2], CLOUDS[..., 2])
    flat = lambda clouds: jnp.hypot(clouds[..., 0], clouds[..., 1])  # noqa: E731
    np.testing.assert_allclose(flat(turned), flat(CLOUDS), rtol=1e-5)
    before, after = (jnp.arctan2(c[:, 0, 1], c[:, 0, 0]) for c in (CLOUDS, turned))
    turn = (after - before) % (2 * jnp.pi)
    quarters = np.histogram(np.asarray(turn), bins=4, range=(0, 2 * np.pi))[0]
    assert quarters.min() > 85  # 125 expected, four standard deviations below is 86
    np.testing.assert_allclose(
        (jnp.arctan2(turned[:, 3, 1], turned[:, 3, 0]) - turn) % (2 * np.pi),
        jnp.arctan2(CLOUDS[:, 3, 1], CLOUDS[:, 3, 0]) % (2 * np.pi),
        atol=1e-3,
    )


def test_small_turns_stay_small():
    turned = Augmentation(yaw=0.1)(jax.random.key(1), CLOUDS)
    assert float(jnp.abs(turned - CLOUDS).max()) <= 0.1 * float(jnp.hypot(CLOUDS[..., 0], CLOUDS[..., 1]).max())


def test_jitter_has_its_size_and_lost_points_become_copies():
    moved = Augmentation(jitter=0.3)(jax.random.key(2), CLOUDS)
    assert abs(float((moved - CLOUDS).std()) - 0.3) < 0.01
    thinned = Augmentation(dropout=0.25)(jax.random.key(3), CLOUDS)
    lost = (thinned[:, 1:] == thinned[:, :1]).all(axis=-1)
    assert abs(float(lost.mean()) - 0.25) < 0.025
    kept = thinned[:, 1:][~lost]
    np.testing.assert_array_equal(kept, CLOUDS[:, 1:][~lost])


@pytest.mark.long
def test_no_augmentation_is_the_full_gradient_and_steps_differ_with_it():
    model = pointnet(3)
    rng = np.random.default_rng(0)
    data = stack_agents([rng.normal(size=(6, 8, 3)).astype(np.float32)] * 2, [np.arange(6, dtype=np.int32) % 3] * 2)
    potential = Posterior(model.log_likelihood, GaussianPrior(), 2)
    theta = jnp.tile(model.init(jax.random.key(0)), (2, 1))
    keys = jax.random.split(jax.random.key(1), 2)
    plain = FullGradient(potential)(keys, theta, data)
    np.testing.assert_allclose(AugmentedGradient(potential, Augmentation())(keys, theta, data), plain, atol=2e-5)
    turned = AugmentedGradient(potential, Augmentation(yaw=3.0))
    one, other = turned(keys, theta, data), turned(jax.random.split(jax.random.key(2), 2), theta, data)
    assert float(jnp.abs(one - other).max()) > 1e-3
    batch = AugmentedGradient(potential, Augmentation(), batch_size=6)(keys, theta, data)
    np.testing.assert_allclose(batch, plain, atol=2e-5)
