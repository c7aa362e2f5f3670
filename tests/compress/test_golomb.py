import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airbayes.compress import CodeError, decode_positions, encode_positions, golomb, golomb_bits, log2_binomial
from airbayes.compress.golomb import MAX_PARAMS, position_bits
from airbayes.errors import AirbayesError

M = 40_855
PAPER_T = (214, 251, 275, 614, 748, 764, 766, 1012, 1411, 1468, 1474, 2467, 2643, 2662)
device_bits = jax.jit(golomb_bits)


def some_positions(rng, m, t):
    return np.sort(rng.choice(m, t, replace=False))


def spelled_out(positions, m):
    """The code word by word, with strings."""
    text = format(len(positions), f"0{m.bit_length()}b")
    if 2 * len(positions) > m:
        positions = sorted(set(range(m)) - set(positions))
    t, previous = len(positions), -1
    for position in positions:
        parameter = max(1, (9 * m + 2 * t) // (13 * t))
        quotient, rest = divmod(position - previous - 1, parameter)
        width = parameter.bit_length()
        text += "0" * quotient + "1"
        if rest < 2**width - parameter:
            text += format(rest, f"0{width - 1}b") if width > 1 else ""
        else:
            text += format(rest + 2**width - parameter, f"0{width}b")
        previous = position
    return text


subsets = st.integers(1, 300).flatmap(
    lambda m: st.tuples(st.just(m), st.sets(st.integers(0, m - 1), max_size=m).map(sorted))
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(subsets)
def test_decoding_gives_back_the_positions_and_the_code_is_the_one_described(case):
    m, kept = case
    positions = np.array(kept, int)
    np.testing.assert_array_equal(decode_positions(encode_positions(positions, m), m), positions)
    assert "".join(map(str, position_bits(positions, m))) == spelled_out(kept, m)


@pytest.mark.parametrize("m", [1, 2, 3, 255, 256, M])
def test_none_one_all_but_one_and_all(m):
    for positions in (np.arange(0), np.arange(m), np.array([0]), np.array([m - 1]), np.arange(m - 1)):
        np.testing.assert_array_equal(decode_positions(encode_positions(positions, m), m), positions)
    assert len(encode_positions(np.arange(m), m)) == -(-m.bit_length() // 8)  # the count says it all


@pytest.mark.parametrize("t", PAPER_T)
def test_within_two_percent_of_the_best_code_at_the_papers_sizes(t):
    # Mean of 50 draws, count and padding included; one draw scatters by about 0.3 % at t = 214.
    rng = np.random.default_rng(t)
    lengths = [8 * len(encode_positions(some_positions(rng, M, t), M)) for _ in range(50)]
    assert 1.0 < np.mean(lengths) / log2_binomial(M, t) < 1.02


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.sets(st.integers(0, 36), max_size=37).map(sorted))
def test_the_device_counts_the_same_bits_small(kept):
    mask = np.zeros(37, bool)
    mask[kept] = True
    assert device_bits(mask) == len(position_bits(np.array(kept, int), 37))


def test_the_device_counts_the_same_bits_at_the_papers_sizes():
    rng = np.random.default_rng(0)
    counts = [0, 1, *PAPER_T, M // 2, M // 2 + 1, M - 2, M]
    masks = np.zeros((len(counts) + 1, M), bool)
    for row, t in enumerate(counts):
        masks[row, some_positions(rng, M, t)] = True
    masks[-1, -500:] = True  # one long gap, then none
    wanted = [len(position_bits(np.flatnonzero(mask), M)) for mask in masks]
    np.testing.assert_array_equal(jax.jit(jax.vmap(golomb_bits))(masks), wanted)
    assert golomb_bits(jax.numpy.asarray(masks[3])) == wanted[3]


def test_division_in_floats_is_exact_as_far_as_it_is_used():
    gaps = np.arange(2**21, dtype=np.int32)
    for divisor in (1, 2, 3, 7, 10, 127, 1000, 4097, 65_535, 699_051, 2**21 - 1):
        found = jax.jit(golomb._divide, static_argnums=2)(gaps, np.int32(divisor), 2**21)
        np.testing.assert_array_equal(found, np.divmod(gaps, divisor))


def test_larger_models_divide_in_integers():
    gaps = np.array([0, 2**21, 2**24 + 1, 2**28 - 1])
    found = golomb._divide(jax.numpy.asarray(gaps, "int32"), jax.numpy.int32(3), 2**28)
    np.testing.assert_array_equal(found, np.divmod(gaps, 3))


def check_mutant(data, m):
    """Damaged bytes raise CodeError or give valid positions. True when they were noticed."""
    try:
        positions = decode_positions(data, m)
    except CodeError:
        return True
    assert (np.diff(positions, prepend=-1, append=m) > 0).all()
    assert encode_positions(positions, m) == data  # one set of positions, one code
    return False


def test_corrupted_bytes_never_crash():
    rng = np.random.default_rng(1)
    noticed = 0
    for _ in range(3000):
        m = int(rng.choice([1, 2, 9, 100, 1000, 5000]))
        good = encode_positions(some_positions(rng, m, int(rng.integers(0, m + 1) ** rng.random())), m)
        data = bytearray(good)
        kind = rng.integers(4)
        if kind == 0:
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data = data[: rng.integers(len(data))]
        elif kind == 2:
            data += bytes(rng.integers(0, 256, int(rng.integers(1, 9)), dtype=np.uint8).tolist())
        else:
            data = bytearray(rng.bytes(int(rng.integers(0, 40))))
        noticed += check_mutant(bytes(data), m)
    assert noticed > 1000


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.binary(max_size=64), st.integers(1, 2000))
def test_arbitrary_bytes_never_crash(data, m):
    check_mutant(data, m)


def test_absurd_input_is_refused_before_memory_is_spent():
    with pytest.raises(CodeError, match="16777216 positions need"):
        decode_positions(b"\x08\x00\x00\x00", MAX_PARAMS)  # claims 2^24 positions in 3 bits
    with pytest.raises(CodeError, match="claims 255"):
        decode_positions(b"\xff", 200)
    with pytest.raises(CodeError, match="inside its count"):
        decode_positions(b"", 200)
    for m in (0, MAX_PARAMS + 1):
        with pytest.raises(CodeError, match=str(m)):
            encode_positions(np.array([0]), m)


@pytest.mark.parametrize("positions", [[1, 1], [2, 1], [-1], [5], [0, 1, 2, 3, 4, 5]])
def test_positions_must_increase_within_range(positions):
    with pytest.raises(AirbayesError, match="at most 4"):
        encode_positions(np.array(positions), 5)
