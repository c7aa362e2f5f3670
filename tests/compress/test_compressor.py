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


@pytest.mark.parametrize("compressor", [TopTQSGD(), TopT(), Identity(), Sign()])
def test_every_compressor_is_the_same_alone_and_among_agents(compressor):
    values = jnp.stack([heavy_tailed(seed, 400) for seed in range(3)])
    keys, t = jax.random.split(KEY, 3), jnp.array([0, 17, 400])
    together = compress_agents(compressor, keys, values, t)
    for agent in range(3):
        alone = compress(compressor, keys[agent], values[agent], t[agent])
        jax.tree.map(np.testing.assert_array_equal, alone, jax.tree.map(lambda x, a=agent: x[a], together))
        assert alone[0].dtype == alone[1].bits.dtype == jnp.float32
    assert (jnp.sum(together[0] != 0, axis=1) <= t).all() or isinstance(compressor, Identity)


@pytest.mark.parametrize("compressor", [TopTQSGD(), TopT()])
def test_jit_and_no_jit_agree(compressor):
    values = heavy_tailed(4, 400)
    compiled = compress(compressor, KEY, values, jnp.asarray(17))
    jax.tree.map(np.testing.assert_array_equal, compiled, compressor(KEY, values, 17))


def test_compressing_is_a_contraction_on_average():
    """E‖C(x) − x‖² ≤ (1 − t/m)‖x‖² + quantisation; memory-based mixing needs it below ‖x‖²."""
    values = heavy_tailed(3)
    compressed, _ = compress(TopTQSGD(), KEY, values, jnp.asarray(766))
    left = float(jnp.sum((compressed - values) ** 2) / jnp.sum(values**2))
    assert left < 1 - 766 / M
