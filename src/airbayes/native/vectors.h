// Vectors of floats, as GCC and Clang have them on every processor, and the matrix products that a PointNet needs.
#pragma once

#include <cstring>

#define INLINE inline __attribute__((always_inline))

namespace airbayes {

#if defined(__AVX512F__)
constexpr int REGISTER = 16;  // floats of one register
#elif defined(__AVX__)
constexpr int REGISTER = 8;
#else
constexpr int REGISTER = 4;
#endif

template <int N> struct Register;  // left to itself, a compiler takes vectors longer than a register apart badly
template <> struct Register<4> {
  typedef float F __attribute__((vector_size(16)));
  typedef int I __attribute__((vector_size(16)));
};
template <> struct Register<8> {
  typedef float F __attribute__((vector_size(32)));
  typedef int I __attribute__((vector_size(32)));
};
template <> struct Register<16> {
  typedef float F __attribute__((vector_size(64)));
  typedef int I __attribute__((vector_size(64)));
};

#define EACH _Pragma("GCC unroll 16") for (int r = 0; r < COUNT; r++)

// N floats in registers.
template <int N> struct Vec {
  static constexpr int LANES = N < REGISTER ? N : REGISTER, COUNT = N / LANES;
  typedef typename Register<LANES>::F F;
  typedef typename Register<LANES>::I I;
  F f[COUNT];

  static INLINE Vec load(const float* from) {  // from anywhere: θ has tensors of odd sizes
    Vec to;
    EACH memcpy(&to.f[r], from + LANES * r, sizeof to.f[r]);  // one by one: as a whole it goes through memory
    return to;
  }
  INLINE void store(float* to) const { EACH memcpy(to + LANES * r, &f[r], sizeof f[r]); }
  static INLINE Vec zero() {
    Vec to;
    EACH to.f[r] = F{};
    return to;
  }
  INLINE Vec operator+(Vec other) const {
    EACH other.f[r] += f[r];
    return other;
  }
  INLINE void add(Vec other) { EACH f[r] += other.f[r]; }
  INLINE void add(float factor, Vec other) { EACH f[r] += factor * other.f[r]; }
  INLINE float operator[](int lane) const { return f[lane / LANES][lane % LANES]; }
  INLINE float sum() const {
    float total = 0;
    for (int lane = 0; lane < N; lane++) total += (*this)[lane];
    return total;
  }

  // NaN stays NaN: a network that is lost must show it.
  INLINE Vec relu() const {
    Vec to;
    EACH to.f[r] = f[r] < 0 ? F{} : f[r];
    return to;
  }
  // d where `out`, what a ReLU made, is positive.
  static INLINE Vec gate(Vec out, Vec d) {
    EACH d.f[r] = out.f[r] > 0 ? d.f[r] : F{};
    return d;
  }
  // Zero, or NaN where a number is not finite.
  INLINE void add_nothing(Vec other) { EACH f[r] += other.f[r] * 0.0f; }
};

// The largest of what was seen, and where it was seen first.
template <int N> struct Best {
  static constexpr int COUNT = Vec<N>::COUNT;
  typename Vec<N>::F most[COUNT];
  typename Vec<N>::I place[COUNT];

  INLINE void start() { EACH most[r] = typename Vec<N>::F{} - __builtin_inff(), place[r] = typename Vec<N>::I{}; }
  INLINE void see(const Vec<N>& x, int where) {
    EACH {
      auto more = x.f[r] > most[r];
      most[r] = more ? x.f[r] : most[r];
      place[r] = more ? typename Vec<N>::I{} + where : place[r];
    }
  }
  INLINE Vec<N> value() const {
    Vec<N> to;
    EACH to.f[r] = most[r];
    return to;
  }
  INLINE void store_places(int* to) const { EACH memcpy(to + Vec<N>::LANES * r, &place[r], sizeof place[r]); }
};

constexpr int WIDE = REGISTER < 8 ? 8 : REGISTER;  // a tile of a product: 4 rows,
constexpr int ROWS = 4;
constexpr int COLUMNS = REGISTER == 16 ? 4 : REGISTER == 8 ? 2 : 1;  // and as many vectors as leave room for the factors

template <int N> INLINE void add_to(float* to, Vec<N> x) { (Vec<N>::load(to) + x).store(to); }
template <int N> INLINE void add_to(float* to, float factor, const float* x) {
  Vec<N> sum = Vec<N>::load(to);
  sum.add(factor, Vec<N>::load(x));
  sum.store(to);
}

INLINE void transpose(const float* from, int rows, int columns, float* to) {
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++) to[j * rows + i] = from[i * columns + j];
}

// out[i] = a[i] W + b, i < R, for C vectors of L columns; ReLU if asked for.
template <int L, int R, int C, bool RELU>
INLINE void tile(const float* a, int inner, const float* w, const float* b, int columns, float* out) {
  typedef Vec<L> V;
  V sum[R][C];
  for (int i = 0; i < R; i++)
    for (int j = 0; j < C; j++) sum[i][j] = b ? V::load(b + L * j) : V::zero();
  for (int k = 0; k < inner; k++) {
    V row[C];
    for (int j = 0; j < C; j++) row[j] = V::load(w + k * columns + L * j);
    for (int i = 0; i < R; i++)
      for (int j = 0; j < C; j++) sum[i][j].add(a[i * inner + k], row[j]);
  }
  for (int i = 0; i < R; i++)
    for (int j = 0; j < C; j++) (RELU ? sum[i][j].relu() : sum[i][j]).store(out + i * columns + L * j);
}

template <int L, int R, int C, bool RELU>
INLINE void strip(const float* a, int rows, int inner, const float* w, const float* b, int columns, float* out) {
  int i = 0;
  for (; i + R <= rows; i += R) tile<L, R, C, RELU>(a + i * inner, inner, w, b, columns, out + i * columns);
  for (; i < rows; i++) tile<L, 1, C, RELU>(a + i * inner, inner, w, b, columns, out + i * columns);
}

// out = a W + b with a [rows, inner], W [inner, columns]; columns a multiple of 8.
template <bool RELU>
static void product(const float* a, int rows, int inner, const float* w, const float* b, int columns, float* out) {
  int j = 0;
  for (; j + WIDE * COLUMNS <= columns; j += WIDE * COLUMNS)
    strip<WIDE, ROWS, COLUMNS, RELU>(a, rows, inner, w + j, b ? b + j : b, columns, out + j);
  for (; j + WIDE <= columns; j += WIDE) strip<WIDE, ROWS, 1, RELU>(a, rows, inner, w + j, b ? b + j : b, columns, out + j);
  for (; j < columns; j += 8) strip<8, ROWS, 1, RELU>(a, rows, inner, w + j, b ? b + j : b, columns, out + j);
}

// W[k] += Σ_i a[i, k] d[i], for R rows k and C vectors.
template <int L, int R, int C>
INLINE void outer_tile(const float* a, int inner, const float* d, int columns, int rows, float* w) {
  typedef Vec<L> V;
  V sum[R][C];
  for (int k = 0; k < R; k++)
    for (int j = 0; j < C; j++) sum[k][j] = V::load(w + k * columns + L * j);
  for (int i = 0; i < rows; i++) {
    V row[C];
    for (int j = 0; j < C; j++) row[j] = V::load(d + i * columns + L * j);
    for (int k = 0; k < R; k++)
      for (int j = 0; j < C; j++) sum[k][j].add(a[i * inner + k], row[j]);
  }
  for (int k = 0; k < R; k++)
    for (int j = 0; j < C; j++) sum[k][j].store(w + k * columns + L * j);
}

template <int L, int C>
INLINE void outer_strip(const float* a, int rows, int inner, const float* d, int columns, float* w) {
  for (int k = 0; k < inner; k += ROWS) outer_tile<L, ROWS, C>(a + k, inner, d, columns, rows, w + k * columns);
}

// W += aᵀ d and b += Σ_i d[i] with a [rows, inner], d [rows, columns]; inner a multiple of 4, columns of 8.
static void pull_product(const float* a, int rows, int inner, const float* d, int columns, float* w, float* b) {
  int j = 0;
  for (; j + WIDE * COLUMNS <= columns; j += WIDE * COLUMNS)
    outer_strip<WIDE, COLUMNS>(a, rows, inner, d + j, columns, w + j);
  for (; j + WIDE <= columns; j += WIDE) outer_strip<WIDE, 1>(a, rows, inner, d + j, columns, w + j);
  for (; j < columns; j += 8) outer_strip<8, 1>(a, rows, inner, d + j, columns, w + j);
  for (int i = 0; b && i < rows; i++)
    for (int c = 0; c < columns; c += 8) add_to<8>(b + c, Vec<8>::load(d + i * columns + c));
}

}  // namespace airbayes
