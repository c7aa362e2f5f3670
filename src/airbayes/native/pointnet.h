// The PointNet of `models/pointnet.py`, a network and some of its clouds at a time: scores, and the gradient of θ.
//
//     T-Net(3) | shared 3→8→8 | T-Net(8) | head, with a transform and the layer after it as one: relu(x (T K) + b)
//
// A block of clouds goes forwards and backwards while what it keeps is in the cache.
#pragma once

#include <cmath>
#include <cstdint>

#include "encoder.h"

namespace airbayes {

constexpr int MOST = 8;  // clouds of a block

// What is asked for: scores, or the gradient of Σ d_scores·scores, or of Σ_i weights_i log p(targets_i).
struct Task {
  const float* theta;
  const float* clouds;  // [count, points, 3]
  int count, points, classes, params;
  const float* d_scores;  // [count, classes], or null
  const int* targets;     // [count], or null
  const float* weights;   // [count]
  float* scores;          // [count, classes], or null
  float* gradient;        // [params], or null
};

// Parameters of an encoder before its last layer.
constexpr int before_last(int in) {
  return (in + 1) * A + (A + 1) * B + (B + 1) * C + (C + 1) * D + (D + 1) * E;
}

// What is left of θ for the last layer tells the number of classes.
constexpr int classes_of(int64_t params) {
  int t_nets = before_last(3) + (E + 1) * 9 + before_last(A) + (E + 1) * A * A, shared = 4 * A + (A + 1) * A;
  return (int)((params - t_nets - shared - before_last(A)) / (E + 1));
}
static_assert(classes_of(40855) == 6, "the paper's network");

INLINE int padded(int columns) { return (columns + 7) / 8 * 8; }

INLINE int block_size(int points) { return points <= 128 ? MOST : points <= 256 ? 4 : points <= 512 ? 2 : 1; }

// Memory handed out piece by piece; without memory behind it, it only counts.
struct Arena {
  char* memory;
  size_t used;
  template <class T> T* take(size_t size) {
    T* piece = (T*)(memory + used);
    used += (size * sizeof(T) + 63) / 64 * 64;
    return memory ? piece : nullptr;
  }
};

struct Network {
  Encoder tnet_input, tnet_feature, head;
  Layer shared[2];
  float *shared_t, *feature_first_t, *head_first_t;
  Seen seen_input, seen_feature, seen_head;
  float *turned, *x;            // [cloud, point, 8], after the first and second shared layer
  float *kernel3, *kernel8;     // T K of every cloud, [cloud, 3, 8] and [cloud, 8, 8]
  float *d_out, *d_pooled;      // [cloud, out] and [cloud, 128] of the encoder at hand
  float *dx, *dh, *dy, *d_turned;  // dx of a block, the others of one cloud
  int *list, *more, *counts;    // active points, of a block and of one cloud
  unsigned char* marks;

  // The tensors where θ holds them, and room for a block of clouds.
  void lay_out(const Task& task, Arena& arena) {
    const float* from = task.theta;
    float* to = task.gradient;
    int block = block_size(task.points);
    size_t points = (size_t)block * task.points;
    auto layer = [&](int in, int out) {
      Layer each{from, from + in * out, to, to ? to + in * out : nullptr};
      from += (in + 1) * out, to = to ? to + (in + 1) * out : nullptr;
      return each;
    };
    auto encoder = [&](int in, int out) {
      Encoder net{};
      net.first = layer(in, A), net.second = layer(A, B), net.wide = layer(B, C);
      net.up = layer(C, D), net.down = layer(D, E), net.last = layer(E, out), net.out = padded(out);
      net.second_t = arena.take<float>(A * B), net.wide_t = arena.take<float>(B * C);
      net.up_t = arena.take<float>(C * D), net.down_t = arena.take<float>(D * E);
      net.last_t = arena.take<float>(E * net.out), net.wide_dt = arena.take<float>(B * C);
      return net;
    };
    auto room = [&](int out) {
      return Seen{arena.take<float>(points * A), arena.take<float>(points * B), arena.take<float>(block * C),
                  arena.take<float>(block * D), arena.take<float>(block * E), arena.take<float>(block * padded(out)),
                  arena.take<int>(block * C)};
    };
    tnet_input = encoder(3, 9), shared[0] = layer(3, A), shared[1] = layer(A, A);
    tnet_feature = encoder(A, A * A), head = encoder(A, task.classes);
    seen_input = room(9), seen_feature = room(A * A), seen_head = room(task.classes);
    shared_t = arena.take<float>(A * A), feature_first_t = arena.take<float>(A * A);
    head_first_t = arena.take<float>(A * A);
    turned = arena.take<float>(points * A), x = arena.take<float>(points * A), dx = arena.take<float>(points * A);
    kernel3 = arena.take<float>(block * 3 * A), kernel8 = arena.take<float>(block * A * A);
    d_out = arena.take<float>(block * (padded(task.classes) + A * A)), d_pooled = arena.take<float>(block * C);
    dh = arena.take<float>((size_t)task.points * B), dy = arena.take<float>((size_t)task.points * A);
    d_turned = arena.take<float>((size_t)task.points * A);
    list = arena.take<int>(block * 2 * C), more = arena.take<int>(C), counts = arena.take<int>(block);
    marks = arena.take<unsigned char>(task.points);
    for (Encoder* net : {&tnet_input, &tnet_feature, &head}) pad(*net, arena);
  }

  // Columns of the last layer padded with zeros, in room of their own.
  void pad(Encoder& net, Arena& arena) {
    float* w = arena.take<float>((E + 1) * net.out);
    float* dw = arena.take<float>((E + 1) * net.out);
    if (!w) return;
    int out = columns_of(net);
    memset(w, 0, (E + 1) * net.out * sizeof(float));
    for (int k = 0; k <= E; k++)
      memcpy(w + k * net.out, k < E ? net.last.w + k * out : net.last.b, out * sizeof(float));
    net.last.w = w, net.last.b = w + E * net.out, net.last.dw = dw, net.last.db = dw + E * net.out;
  }

  static int columns_of(const Encoder& net) { return (int)((net.last.b - net.last.w) / E); }

  void prepare_gradient(const Task& task) {
    memset(task.gradient, 0, task.params * sizeof(float));
    memset(marks, 0, task.points);
    for (Encoder* net : {&tnet_input, &tnet_feature, &head}) {
      transpose(net->second.w, A, B, net->second_t), transpose(net->wide.w, B, C, net->wide_t);
      transpose(net->up.w, C, D, net->up_t), transpose(net->down.w, D, E, net->down_t);
      transpose(net->last.w, E, net->out, net->last_t);
      memset(net->wide_dt, 0, B * C * sizeof(float));
      memset(net->last.dw, 0, (E + 1) * net->out * sizeof(float));
    }
    transpose(shared[1].w, A, A, shared_t), transpose(tnet_feature.first.w, A, A, feature_first_t);
    transpose(head.first.w, A, A, head_first_t);
  }

  // What was gathered in other shapes goes to its place.
  void finish_gradient(const Task& task) {
    const int outs[] = {9, A * A, task.classes};
    const Encoder* nets[] = {&tnet_input, &tnet_feature, &head};
    for (int n = 0; n < 3; n++) {
      const Encoder& net = *nets[n];
      transpose(net.wide_dt, C, B, net.wide.dw);
      float* to = net.down.db + E;  // the last layer follows
      for (int k = 0; k <= E; k++) memcpy(to + k * outs[n], net.last.dw + k * net.out, outs[n] * sizeof(float));
    }
  }

  void forward(const float* clouds, int count, int points) {
    for (int i = 0; i < count; i++) {
      point_layer<3, A>(clouds + 3 * (size_t)i * points, points, tnet_input.first.w, tnet_input.first.b,
                        seen_input.y + A * (size_t)i * points);
      encode_points(tnet_input, seen_input, i, points);
    }
    encode_clouds(tnet_input, seen_input, count);
    for (int i = 0; i < count; i++) {
      size_t at = A * (size_t)i * points;
      float* kernel = kernel3 + 3 * A * i;
      product<false>(transform3(i).t, 3, 3, shared[0].w, nullptr, A, kernel);
      point_layer<3, A>(clouds + 3 * (size_t)i * points, points, kernel, shared[0].b, turned + at);
      point_layer<A, A>(turned + at, points, shared[1].w, shared[1].b, x + at);
      point_layer<A, A>(x + at, points, tnet_feature.first.w, tnet_feature.first.b, seen_feature.y + at);
      encode_points(tnet_feature, seen_feature, i, points);
    }
    encode_clouds(tnet_feature, seen_feature, count);
    for (int i = 0; i < count; i++) {
      size_t at = A * (size_t)i * points;
      float* kernel = kernel8 + A * A * i;
      product<false>(seen_feature.out + A * A * i, A, A, head.first.w, nullptr, A, kernel);
      point_layer<A, A>(x + at, points, kernel, head.first.b, seen_head.y + at);
      encode_points(head, seen_head, i, points);
    }
    encode_clouds(head, seen_head, count);
  }

  struct Matrix3 {
    float t[9];
  };
  Matrix3 transform3(int cloud) const {
    Matrix3 found;
    memcpy(found.t, seen_input.out + tnet_input.out * cloud, sizeof found.t);
    return found;
  }

  // d_out holds ∂scores [cloud, padded classes].
  void backward(const float* clouds, int count, int points) {
    pull_clouds(head, seen_head, count, d_out, d_pooled);
    memset(dx, 0, count * (size_t)points * A * sizeof(float));
    for (int i = 0; i < count; i++) {
      size_t at = A * (size_t)i * points;
      Active active = pull_points(head, seen_head, i, points, d_pooled, dh, dy, list + 2 * C * i, marks);
      counts[i] = active.count;
      float kernel_t[A * A], d_kernel[A * A] = {};
      transpose(kernel8 + A * A * i, A, A, kernel_t);
      pull_layer<A, A, ADD>(x + at, seen_head.y + at, dy, active, kernel_t, d_kernel, head.first.db, dx + at);
      product<false>(d_kernel, A, A, head_first_t, nullptr, A, d_out + A * A * i);
      pull_product(seen_feature.out + A * A * i, A, A, d_kernel, A, head.first.dw, nullptr);
    }
    pull_clouds(tnet_feature, seen_feature, count, d_out, d_pooled);
    memset(d_out, 0, count * tnet_input.out * sizeof(float));
    for (int i = 0; i < count; i++) {
      size_t at = A * (size_t)i * points;
      Active some = pull_points(tnet_feature, seen_feature, i, points, d_pooled, dh, dy, more, marks);
      pull_layer<A, A, ADD>(x + at, seen_feature.y + at, dy, some, feature_first_t, tnet_feature.first.dw,
                            tnet_feature.first.db, dx + at);
      Active all = joined(Active{list + 2 * C * i, counts[i]}, some);
      pull_layer<A, A, SET>(turned + at, x + at, dx + at, all, shared_t, shared[1].dw, shared[1].db, d_turned);
      float d_kernel[3 * A] = {};
      pull_layer<3, A, NOWHERE>(clouds + 3 * (size_t)i * points, turned + at, d_turned, all, nullptr, d_kernel,
                                shared[0].db, nullptr);
      pull_transform3(transform3(i).t, d_kernel, d_out + tnet_input.out * i);
    }
    pull_clouds(tnet_input, seen_input, count, d_out, d_pooled);
    for (int i = 0; i < count; i++) {
      size_t at = A * (size_t)i * points;
      Active active = pull_points(tnet_input, seen_input, i, points, d_pooled, dh, dy, more, marks);
      pull_layer<3, A, NOWHERE>(clouds + 3 * (size_t)i * points, seen_input.y + at, dy, active, nullptr,
                                tnet_input.first.dw, tnet_input.first.db, nullptr);
    }
  }

  Active joined(Active all, Active some) {
    for (int i = 0; i < all.count; i++) marks[all.points[i]] = 1;
    for (int i = 0; i < some.count; i++)
      if (!marks[some.points[i]]) all.points[all.count++] = some.points[i];
    for (int i = 0; i < all.count; i++) marks[all.points[i]] = 0;
    return all;
  }

  // ∂T = ∂(TK) Kᵀ and ∂K += Tᵀ ∂(TK), K the first shared kernel.
  void pull_transform3(const float* t, const float* d_kernel, float* d_t) {
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        float sum = 0;
        for (int c = 0; c < A; c++) sum += d_kernel[A * i + c] * shared[0].w[A * j + c];
        d_t[3 * i + j] = sum;
        for (int c = 0; c < A; c++) shared[0].dw[A * j + c] += t[3 * i + j] * d_kernel[A * i + c];
      }
  }

  // ∂scores of one cloud: given, or weight (1[c = y] − p(c)) of a log-likelihood.
  void score_gradient(const Task& task, int i, const float* scores, float* d) const {
    memset(d, 0, head.out * sizeof(float));
    if (task.d_scores) {
      memcpy(d, task.d_scores + (size_t)i * task.classes, task.classes * sizeof(float));
      return;
    }
    float top = scores[0], sum = 0;
    for (int c = 1; c < task.classes; c++) top = scores[c] > top ? scores[c] : top;
    for (int c = 0; c < task.classes; c++) sum += d[c] = std::exp(scores[c] - top);
    for (int c = 0; c < task.classes; c++) d[c] = task.weights[i] * ((c == task.targets[i]) - d[c] / sum);
  }
};

INLINE bool finite(const float* x, int size) {
  Vec<16> sum = Vec<16>::zero();
  float rest = 0;
  int i = 0;
  for (; i + 16 <= size; i += 16) sum.add_nothing(Vec<16>::load(x + i));
  for (; i < size; i++) rest += x[i] * 0.0f;
  rest += sum.sum();
  return rest == 0;
}

INLINE size_t scratch_size(const Task& task) {
  Arena arena{nullptr, 0};
  Network net{};
  net.lay_out(task, arena);
  return arena.used;
}

// A network with a parameter that is not finite has NaN everywhere.
static void carry_out(const Task& task, char* scratch) {
  size_t scores = (size_t)task.count * task.classes;
  if (!finite(task.theta, task.params)) {
    for (size_t i = 0; task.scores && i < scores; i++) task.scores[i] = NAN;
    for (int i = 0; task.gradient && i < task.params; i++) task.gradient[i] = NAN;
    return;
  }
  Arena arena{scratch, 0};
  Network net{};
  net.lay_out(task, arena);
  if (task.gradient) net.prepare_gradient(task);
  int block = block_size(task.points);
  for (int begin = 0; begin < task.count; begin += block) {
    int count = task.count - begin < block ? task.count - begin : block;
    const float* clouds = task.clouds + 3 * (size_t)begin * task.points;
    net.forward(clouds, count, task.points);
    const float* found = net.seen_head.out;
    for (int i = 0; i < count; i++, found += net.head.out) {
      if (task.scores)
        memcpy(task.scores + (size_t)(begin + i) * task.classes, found, task.classes * sizeof(float));
      if (task.gradient) net.score_gradient(task, begin + i, found, net.d_out + net.head.out * i);
    }
    if (task.gradient) net.backward(clouds, count, task.points);
  }
  if (task.gradient) net.finish_gradient(task);
}

}  // namespace airbayes
