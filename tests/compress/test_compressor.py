import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from airbayes.compress import (
    CodeError,
    Compressor,
    Identity,
    TopT,
    TopTQSGD,
    decode_message,
    encode_message,
    levels_of,
    quantise,
    top_t,
)
from airbayes.compress.largest import slots_for
from airbayes.errors import AirbayesError

M = 40_855
KEY = jax.random.key(0)


@eqx.filter_jit
def compress(compressor, key, values, t):
    return compressor(key, values, t)


@eqx.filter_jit
def compress_agents(compressor, keys, values, t):
    return jax.vmap(compressor)(keys, values, t)


top_t_jit = jax.jit(top_t)


def heavy_tailed(seed, m=M):
    return jax.random.normal(jax.random.key(seed), (m,)) ** 3


@pytest.mark.parametrize(("t", "value_bits"), [(0, 10), (1, 10), (766, 10), (30_000, 10), (766, 2), (766, 16)])
def test_the_decoded_message_is_the_compressed_vector_bit_for_bit(t, value_bits):
    values = heavy_tailed(t)
    compressed, info = compress(TopTQSGD(value_bits), KEY, values, jnp.asarray(t))
    signed_levels, scale = quantise(KEY, jnp.where(top_t_jit(values, t), values, 0.0), levels_of(value_bits))
    data = encode_message(np.asarray(signed_levels), float(scale), value_bits=value_bits)
    decoded = decode_message(data, M, value_bits=value_bits)
    np.testing.assert_array_equal(decoded.view(np.uint32), np.asarray(compressed).view(np.uint32))
    assert len(data) == -(-int(info.bits) // 8)  # the device counts the bits really used
    assert info.kept == np.count_nonzero(decoded) <= t
    assert info.scale == scale


def test_corrupted_messages_raise_or_decode_to_a_finite_vector():
    rng = np.random.default_rng(2)
    levels = np.where(rng.random(300) < 0.1, rng.integers(-511, 512, 300), 0)
    good = encode_message(levels, 2e38)  # one bit away from ∞
    noticed = 0
    for _ in range(2000):
        data = bytearray(good)
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        data = data[: rng.integers(len(data))] if rng.random() < 0.2 else data
        try:
            decoded = decode_message(bytes(data), 300)
        except CodeError:
            noticed += 1
        else:
            assert decoded.shape == (300,)
            assert np.isfinite(decoded).all()
    assert noticed > 200


def test_messages_that_cannot_be_sent_are_refused():
    with pytest.raises(CodeError, match="512"):
        encode_message(np.array([0, 512]), 1.0)
    for scale in (np.nan, np.inf, 1e39, 0.0, 1e-60):
        with pytest.raises(CodeError, match="diverged"):
            encode_message(np.array([0, 5]), scale)
    with pytest.raises(CodeError, match="its 1 values need"):
        decode_message(encode_message(np.array([0, 5]), 1.0)[:2], 2)
    with pytest.raises(AirbayesError, match="value_bits"):
        TopTQSGD(value_bits=1)


def test_top_t_keeps_the_values_and_identity_everything():
    values = jnp.array([0.5, -3.0, 0.0, 2.0])
    kept, info = TopT()(KEY, values, 2)
    np.testing.assert_array_equal(kept, [0, -3, 0, 2])
    assert (info.kept, info.scale) == (2, 3)
    everything, info = Identity()(KEY, values, 0)
    np.testing.assert_array_equal(everything, values)
    assert (info.kept, info.scale, info.bits) == (4, 3, 128)


def test_a_silent_agent_sends_its_count_alone():
    for compressor in (TopTQSGD(), TopT()):
        compressed, info = compress(compressor, KEY, heavy_tailed(1), jnp.asarray(0))
        assert not compressed.any()
        assert (info.kept, info.scale, info.bits) == (0, 0, 16)


def test_a_diverged_entry_is_sent_as_nan_not_hidden():
    compressed, info = compress(TopTQSGD(), KEY, jnp.array([1.0, jnp.nan, 5.0, 2.0]), jnp.asarray(2))
    np.testing.assert_array_equal(jnp.isnan(compressed), [False, True, True, False])
    assert jnp.isnan(info.scale)
    silent, _ = compress(TopTQSGD(), KEY, jnp.array([1.0, jnp.nan, 5.0, 2.0]), jnp.asarray(0))
    assert not silent.any()


class Sign(Compressor):  # what a user would write
    def __call__(self, key, values, t):
        _, info = TopT()(key, values, t)
        return jnp.where(top_t(values, t), jnp.sign(values), 0.0), info


@pytest.mark.parametrize("compressor", [TopTQSGD(), TopTQSGD(most=100), TopT(), Identity(), Sign()])
def test_every_compressor_is_the_same_alone_and_among_agents(compressor):
    values = jnp.stack([heavy_tailed(seed, 600) for seed in range(3)])
    keys, t = jax.random.split(KEY, 3), jnp.array([0, 17, 400])
    together = compress_agents(compressor, keys, values, t)
    for agent in range(3):
        alone = compress(compressor, keys[agent], values[agent], t[agent])
        jax.tree.map(np.testing.assert_array_equal, alone, jax.tree.map(lambda x, a=agent: x[a], together))
        assert alone[0].dtype == alone[1].bits.dtype == jnp.float32
    assert (jnp.sum(together[0] != 0, axis=1) <= t).all() or isinstance(compressor, Identity)


@pytest.mark.parametrize("compressor", [TopTQSGD(), TopTQSGD(most=100), TopT()])
def test_jit_and_no_jit_agree(compressor):
    values = heavy_tailed(4, 600)
    compiled = compress(compressor, KEY, values, jnp.asarray(17))
    jax.tree.map(np.testing.assert_array_equal, compiled, compressor(KEY, values, 17))


def test_compressing_is_a_contraction_on_average():
    """E‖C(x) − x‖² ≤ (1 − t/m)‖x‖² + quantisation; memory-based mixing needs it below ‖x‖²."""
    values = heavy_tailed(3)
    compressed, _ = compress(TopTQSGD(), KEY, values, jnp.asarray(766))
    left = float(jnp.sum((compressed - values) ** 2) / jnp.sum(values**2))
    assert left < 1 - 766 / M


def tricky(name, m=2000):
    values = np.random.default_rng(5).standard_normal(m)
    return jnp.asarray(
        {
            "normal": values,
            "ties": np.round(values, 1),
            "zeros": np.where(np.arange(m) < 30, values, 0),
            "one ulp apart": (np.float32(1).view(np.uint32) + np.arange(m, dtype=np.uint32)[::-1]).view(np.float32),
            "next to nothing": 1e-38 * values,
            "NaN": np.where(np.arange(m) == 7, np.nan, values),
            "infinite": np.where(np.arange(m) == m - 1, -np.inf, values),
        }[name],
        jnp.float32,
    )


@pytest.mark.parametrize("value_bits", [2, 10])
@pytest.mark.parametrize("name", ["normal", "ties", "zeros", "one ulp apart", "next to nothing", "NaN", "infinite"])
def test_a_known_bound_on_t_changes_nothing_but_the_time(name, value_bits):
    values, most = tricky(name), 300
    assert slots_for(most, values.size)
    for seed, t in enumerate((0, 1, 17, 299, 300)):
        key = jax.random.fold_in(KEY, seed)
        bounded = compress(TopTQSGD(value_bits, most), key, values, jnp.asarray(t))
        jax.tree.map(
            np.testing.assert_array_equal, bounded, compress(TopTQSGD(value_bits), key, values, jnp.asarray(t))
        )


def test_the_decoded_message_is_the_compressed_vector_also_with_a_bound():
    values = heavy_tailed(8)
    compressed, info = compress(TopTQSGD(most=1474), KEY, values, jnp.asarray(1474))
    signed_levels, scale = quantise(KEY, jnp.where(top_t_jit(values, 1474), values, 0.0))
    data = encode_message(np.asarray(signed_levels), float(scale))
    np.testing.assert_array_equal(decode_message(data, M).view(np.uint32), np.asarray(compressed).view(np.uint32))
    assert len(data) == -(-int(info.bits) // 8)


@pytest.mark.parametrize("m", [400, 2000])  # too few for slots, and enough
def test_no_more_than_the_bound_is_ever_kept(m):
    values = heavy_tailed(6, m)
    for t in (151, m, m + 5):
        found = compress(TopTQSGD(most=150), KEY, values, jnp.asarray(t))
        jax.tree.map(np.testing.assert_array_equal, found, compress(TopTQSGD(), KEY, values, jnp.asarray(150)))
    with pytest.raises(AirbayesError, match="-1"):
        TopTQSGD(most=-1)


@pytest.mark.parametrize("most", [1000, 2000])
def test_a_bound_near_all_coordinates_is_allowed(most):
    values = heavy_tailed(7, 2000)
    found = compress(TopTQSGD(most=most), KEY, values, jnp.asarray(most))
    jax.tree.map(np.testing.assert_array_equal, found, compress(TopTQSGD(), KEY, values, jnp.asarray(most)))


def test_kept_entries_are_right_on_average_also_with_a_bound():
    """100 z-tests of 20,000 draws; false-alarm rate of the whole test < 100·6e-7 = 6e-5 (|z| ≤ 5)."""
    values, keys = jax.random.normal(jax.random.key(1), (600,)), jax.random.split(jax.random.key(2), 20_000)
    compressor = TopTQSGD(value_bits=4, most=100)
    assert slots_for(100, 600)
    draws = jax.jit(jax.vmap(lambda key: compressor(key, values, jnp.asarray(100))[0]))(keys)
    mask = np.asarray(top_t(values, 100))
    exact, draws = np.asarray(values, np.float64)[mask], np.asarray(draws[:, mask], np.float64)
    step = np.abs(exact).max() / 7
    fraction = np.abs(exact) / step % 1.0
    error = step * np.sqrt(fraction * (1 - fraction) / len(keys))  # Bernoulli, in closed form
    assert (np.abs(draws.mean(0) - exact) <= 5 * error + 1e-6 * np.abs(exact)).all()
    pairs = np.asarray(np.corrcoef(draws[:, np.flatnonzero(error)[:20]].T))[np.triu_indices(20, 1)]
    assert np.abs(pairs).max() < 5.5 / np.sqrt(len(keys))  # 190 correlations: false-alarm rate < 190·4e-8 = 8e-6


def test_other_generators_draw_for_the_same_coordinates():
    values, key = heavy_tailed(2, 2000), jax.random.key(3, impl="rbg")
    found = compress(TopTQSGD(most=100), key, values, jnp.asarray(100))
    jax.tree.map(np.testing.assert_array_equal, found, compress(TopTQSGD(), key, values, jnp.asarray(100)))
