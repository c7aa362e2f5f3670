// The encoder of `models/pointnet.py` for a block of clouds: width→8→16→128, max over points, →64→32→out.
//
// The layer of 128 channels is most of the arithmetic. Channels lie in the lanes of a vector and points come one after
// the other, so that the maximum and its place need no step across lanes. Backwards only winners carry gradient:
// a few rows of 16 numbers per channel, and points that never win are left out altogether.
#pragma once

#include "vectors.h"

namespace airbayes {

constexpr int A = 8, B = 16, C = 128, D = 64, E = 32;  // widths of the encoder's layers

struct Layer {
  const float *w, *b;  // kernel [in, out] and bias, in θ
  float *dw, *db;      // and in its gradient; null where none is asked for
};

// Parameters. `last` has its columns padded to a multiple of 8, and copies of its own.
struct Encoder {
  Layer first, second, wide, up, down, last;
  int out;  // columns of `last`, padded
  float *second_t, *wide_t, *up_t, *down_t, *last_t;  // transposed kernels
  float* wide_dt;                                     // transposed gradient of the wide kernel
};

// What the encoder made of a block of clouds, and what its gradient needs.
struct Seen {
  float *y, *h;  // [cloud, point, 8], [cloud, point, 16]
  float *pooled, *z1, *z2, *out;  // [cloud, 128], 64, 32, out
  int* winner;                    // [cloud, 128]
};

template <int IN, int OUT> INLINE void point_layer(const float* x, int points, const float* w, const float* b, float* y) {
  strip<Vec<OUT>::LANES, 8 / Vec<OUT>::COUNT, Vec<OUT>::COUNT, true>(x, points, IN, w, b, OUT, y);
}

// pooled_c = relu(max_p h_p·W_c + b_c), and the first point that has the maximum. NaN if any h_p is not finite.
INLINE void pool(const float* h, int points, const Layer& wide, float* pooled, int* winner) {
  typedef Vec<WIDE> V;
  Vec<B> lost = Vec<B>::zero();
  for (int p = 0; p < points; p++) lost.add_nothing(Vec<B>::load(h + B * p));
  V nothing = V::zero();
  for (int i = 0; i < V::COUNT; i++) nothing.f[i] += lost.sum();
  for (int c = 0; c < C; c += WIDE * COLUMNS) {
    Best<WIDE> best[COLUMNS];
    for (int j = 0; j < COLUMNS; j++) best[j].start();
    for (int p = 0; p < points; p += ROWS) {
      const float* row[ROWS];  // past the end the last point once more, which cannot win again
      for (int i = 0; i < ROWS; i++) row[i] = h + B * (p + i < points ? p + i : points - 1);
      V sum[ROWS][COLUMNS];
      for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) sum[i][j] = V::zero();
#pragma GCC unroll 4
      for (int k = 0; k < B; k++) {
        V w[COLUMNS];
        for (int j = 0; j < COLUMNS; j++) w[j] = V::load(wide.w + C * k + c + WIDE * j);
        for (int i = 0; i < ROWS; i++)
          for (int j = 0; j < COLUMNS; j++) sum[i][j].add(row[i][k], w[j]);
      }
      for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) best[j].see(sum[i][j], p + i);
    }
    for (int j = 0; j < COLUMNS; j++) {
      V out = (best[j].value() + V::load(wide.b + c + WIDE * j)).relu() + nothing;
      out.store(pooled + c + WIDE * j);
      best[j].store_places(winner + c + WIDE * j);
    }
  }
}

INLINE void encode_points(const Encoder& net, const Seen& seen, int cloud, int points) {
  const float* y = seen.y + (size_t)cloud * points * A;
  float* h = seen.h + (size_t)cloud * points * B;
  point_layer<A, B>(y, points, net.second.w, net.second.b, h);
  pool(h, points, net.wide, seen.pooled + C * cloud, seen.winner + C * cloud);
}

static void encode_clouds(const Encoder& net, const Seen& seen, int clouds) {
  product<true>(seen.pooled, clouds, C, net.up.w, net.up.b, D, seen.z1);
  product<true>(seen.z1, clouds, D, net.down.w, net.down.b, E, seen.z2);
  product<false>(seen.z2, clouds, E, net.last.w, net.last.b, net.out, seen.out);
}

INLINE void gate_all(const float* out, int size, float* d) {
  for (int i = 0; i < size; i += 8) Vec<8>::gate(Vec<8>::load(out + i), Vec<8>::load(d + i)).store(d + i);
}

// From d_out [cloud, out] to ∂pooled before its ReLU, d_pooled [cloud, 128].
static void pull_clouds(const Encoder& net, const Seen& seen, int clouds, const float* d_out, float* d_pooled) {
  float d2[8 * E], d1[8 * D];  // blocks have up to 8 clouds
  pull_product(seen.z2, clouds, E, d_out, net.out, net.last.dw, net.last.db);
  product<false>(d_out, clouds, net.out, net.last_t, nullptr, E, d2);
  gate_all(seen.z2, clouds * E, d2);
  pull_product(seen.z1, clouds, D, d2, E, net.down.dw, net.down.db);
  product<false>(d2, clouds, E, net.down_t, nullptr, D, d1);
  gate_all(seen.z1, clouds * D, d1);
  pull_product(seen.pooled, clouds, C, d1, D, net.up.dw, net.up.db);
  product<false>(d1, clouds, D, net.up_t, nullptr, C, d_pooled);
  gate_all(seen.pooled, clouds * C, d_pooled);
}

// The points that have gradient, each once, and its array [point, 16], zero at first where they are.
struct Active {
  int* points;
  int count;
};

INLINE Active pull_pool(const Encoder& net, const float* h, const int* winner, const float* d, float* dh, int* points,
                        unsigned char* seen) {
  Active active{points, 0};
  for (int c = 0; c < C; c++) {
    if (d[c] == 0) continue;
    int p = winner[c];
    if (!seen[p]) {
      seen[p] = 1;
      active.points[active.count++] = p;
      Vec<B>::zero().store(dh + B * p);
    }
    add_to<B>(dh + B * p, d[c], net.wide_t + B * c);
    add_to<B>(net.wide_dt + B * c, d[c], h + B * p);
    net.wide.db[c] += d[c];
  }
  for (int i = 0; i < active.count; i++) seen[active.points[i]] = 0;
  return active;
}

// From dy [point, OUT] at the active points, y = relu(x W + b): the gradients of W and b, and ∂x, set or added to.
enum Into { NOWHERE, SET, ADD };

template <int IN, int OUT, Into INTO>
INLINE void pull_layer(const float* x, const float* y, const float* dy, Active active, const float* w_t, float* dw,
                       float* db, float* dx) {
  typedef Vec<OUT> V;
  V sum[IN], bias = V::zero();
  for (int k = 0; k < IN; k++) sum[k] = V::zero();
  for (int i = 0; i < active.count; i++) {
    int p = active.points[i];
    V d = V::gate(V::load(y + OUT * p), V::load(dy + OUT * p));
    bias.add(d);
    for (int k = 0; k < IN; k++) sum[k].add(x[IN * p + k], d);
    if (INTO != NOWHERE) {
      Vec<A> even = INTO == ADD ? Vec<A>::load(dx + A * p) : Vec<A>::zero(), odd = Vec<A>::zero();
      for (int c = 0; c < OUT; c += 2) {
        even.add(d[c], Vec<A>::load(w_t + A * c));
        odd.add(d[c + 1], Vec<A>::load(w_t + A * (c + 1)));
      }
      (even + odd).store(dx + A * p);
    }
  }
  for (int k = 0; k < IN; k++) add_to<OUT>(dw + OUT * k, sum[k]);
  add_to<OUT>(db, bias);
}

// From d_pooled of one cloud to ∂y of the encoder's first layer, at the points returned.
INLINE Active pull_points(const Encoder& net, const Seen& seen, int cloud, int points, const float* d_pooled, float* dh,
                          float* dy, int* list, unsigned char* marks) {
  const float* y = seen.y + (size_t)cloud * points * A;
  const float* h = seen.h + (size_t)cloud * points * B;
  Active active = pull_pool(net, h, seen.winner + C * cloud, d_pooled + C * cloud, dh, list, marks);
  pull_layer<A, B, SET>(y, h, dh, active, net.second_t, net.second.dw, net.second.db, dy);
  return active;
}

}  // namespace airbayes
