// What XLA calls, through its foreign function interface for C, on the threads of its own pool.
//
// Row r of a call is a network. Its parameters are row r of θ, counted modulo the rows that θ has, and so for the
// clouds and the rest: what all cells of a grid share is there once.
//
// The clouds of a network are cut into shares whose gradients are added in order, so that results do not depend on the
// number of threads, nor on the other networks of a call.
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "pointnet.h"
#include "xla/ffi/api/c_api.h"

namespace airbayes {
namespace {

constexpr int SHARE = 64;  // clouds
constexpr int GROUP = 64;  // gradients of shares in memory at once

XLA_FFI_Error* refuse(const XLA_FFI_CallFrame* frame, const char* message) {
  XLA_FFI_Error_Create_Args args{};
  args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  args.message = message, args.errc = XLA_FFI_Error_Code_INVALID_ARGUMENT;
  return frame->api->XLA_FFI_Error_Create(&args);
}

// A loop whose turns are taken by whichever thread is free. Threads that come late find nothing left to do.
struct Loop {
  std::function<void(int)> turn;
  int size, next = 0, done = 0;
  std::mutex mutex;
  std::condition_variable finished;

  void take_turns() {
    std::unique_lock<std::mutex> lock(mutex);
    while (next < size) {
      int mine = next++;
      lock.unlock();
      turn(mine);
      lock.lock();
      if (++done == size) finished.notify_all();
    }
  }
};

void for_each(const XLA_FFI_CallFrame* frame, int size, std::function<void(int)> turn) {
  auto loop = std::make_shared<Loop>();
  loop->turn = std::move(turn), loop->size = size;
  int64_t threads = 1;
  XLA_FFI_ThreadPool_NumThreads_Args asked{};
  asked.struct_size = XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE, asked.ctx = frame->ctx;
  asked.num_threads = &threads;
  XLA_FFI_Error* error = frame->api->XLA_FFI_ThreadPool_NumThreads(&asked);
  for (int i = 1; !error && i < size && i < threads; i++) {
    XLA_FFI_ThreadPool_Schedule_Args args{};
    args.struct_size = XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE, args.ctx = frame->ctx;
    args.data = new std::shared_ptr<Loop>(loop);
    args.task = [](void* data) {
      std::unique_ptr<std::shared_ptr<Loop>> mine((std::shared_ptr<Loop>*)data);
      (*mine)->take_turns();
    };
    error = frame->api->XLA_FFI_ThreadPool_Schedule(&args);
    if (error) delete (std::shared_ptr<Loop>*)args.data;
  }
  if (error) {  // no pool: this thread does it all
    XLA_FFI_Error_Destroy_Args args{};
    args.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, args.error = error;
    frame->api->XLA_FFI_Error_Destroy(&args);
  }
  loop->take_turns();
  std::unique_lock<std::mutex> lock(loop->mutex);
  loop->finished.wait(lock, [&] { return loop->done == loop->size; });
}

// Memory that a thread keeps for its next task.
char* scratch(size_t size) {
  struct Kept {
    char* memory = nullptr;
    size_t size = 0;
    ~Kept() { free(memory); }
  };
  static thread_local Kept kept;
  if (kept.size < size) {
    free(kept.memory);
    kept.memory = (char*)aligned_alloc(64, size);
    kept.size = kept.memory ? size : 0;
  }
  return kept.memory;
}

// A buffer whose first dimension counts networks.
struct Rows {
  const XLA_FFI_Buffer* buffer;
  int64_t rows, row;  // how many, and numbers in each

  explicit Rows(const void* from) : buffer((const XLA_FFI_Buffer*)from), rows(buffer->dims[0]), row(1) {
    for (int64_t i = 1; i < buffer->rank; i++) row *= buffer->dims[i];
  }
  template <class T> T* at(int64_t network, int64_t each = 0, int64_t size = 0) const {
    return (T*)buffer->data + network % rows * row + each * size;
  }
};

struct Call {
  const XLA_FFI_CallFrame* frame;
  Rows theta, clouds, result;
  int64_t networks, count, points;

  explicit Call(const XLA_FFI_CallFrame* frame)
      : frame(frame), theta(frame->args.args[0]), clouds(frame->args.args[1]), result(frame->rets.rets[0]),
        networks(result.rows), count(clouds.buffer->dims[1]), points(clouds.buffer->dims[2]) {}

  int shares() const { return (int)((count + SHARE - 1) / SHARE); }

  Task task(int64_t network, int share, int classes) const {
    Task each{};
    int64_t begin = (int64_t)share * SHARE;
    each.theta = theta.at<float>(network), each.clouds = clouds.at<float>(network, begin, 3 * points);
    each.count = (int)(count - begin < SHARE ? count - begin : SHARE);
    each.points = (int)points, each.classes = classes, each.params = (int)theta.row;
    return each;
  }
};

// False where there is no memory for it.
bool carry_out(const Task& task) {
  char* memory = scratch(scratch_size(task));
  if (memory) carry_out(task, memory);
  return memory;
}

XLA_FFI_Error* scores(const XLA_FFI_CallFrame* frame) {
  Call call(frame);
  int classes = (int)call.result.buffer->dims[2], shares = call.shares();
  std::atomic<bool> enough{true};
  for_each(frame, (int)call.networks * shares, [&](int i) {
    Task task = call.task(i / shares, i % shares, classes);
    task.scores = call.result.at<float>(i / shares, (int64_t)(i % shares) * SHARE, classes);
    if (!carry_out(task)) enough = false;
  });
  return enough ? nullptr : refuse(frame, "PointNet: out of memory");
}

// `ask` says whose gradient a task is.
template <class Ask> XLA_FFI_Error* gradient(const Call& call, int classes, Ask ask) {
  int shares = call.shares(), together = shares > 1 ? (GROUP + shares - 1) / shares : (int)call.networks;
  int64_t size = call.theta.row;
  std::vector<float> parts;  // [network of a group, share, param]
  if (shares > 1) parts.resize((size_t)together * shares * size);
  std::atomic<bool> enough{true};
  for (int64_t begin = 0; begin < call.networks; begin += together) {
    int here = (int)(call.networks - begin < together ? call.networks - begin : together);
    for_each(call.frame, here * shares, [&](int i) {
      Task task = call.task(begin + i / shares, i % shares, classes);
      task.gradient = shares > 1 ? parts.data() + i * size : call.result.at<float>(begin + i);
      ask(task, begin + i / shares, (int64_t)(i % shares) * SHARE);
      if (!carry_out(task)) enough = false;
    });
    for (int n = 0; shares > 1 && n < here; n++) {
      float* to = call.result.at<float>(begin + n);
      const float* from = parts.data() + (size_t)n * shares * size;
      memcpy(to, from, size * sizeof(float));
      for (int s = 1; s < shares; s++)
        for (int64_t i = 0; i < size; i++) to[i] += from[s * size + i];
    }
  }
  return enough ? nullptr : refuse(call.frame, "PointNet: out of memory");
}

XLA_FFI_Error* pull_scores(const XLA_FFI_CallFrame* frame) {
  Call call(frame);
  Rows d(frame->args.args[2]);
  int classes = (int)d.buffer->dims[2];
  return gradient(call, classes, [&](Task& task, int64_t network, int64_t begin) {
    task.d_scores = d.at<float>(network, begin, classes);
  });
}

XLA_FFI_Error* pull_log_likelihood(const XLA_FFI_CallFrame* frame) {
  Call call(frame);
  Rows targets(frame->args.args[2]), weights(frame->args.args[3]);
  int classes = classes_of(call.theta.row);
  return gradient(call, classes, [&](Task& task, int64_t network, int64_t begin) {
    task.targets = targets.at<int>(network, begin, 1), task.weights = weights.at<float>(network, begin, 1);
  });
}

// XLA asks every function once which release of the interface it was compiled for.
bool introduced(XLA_FFI_CallFrame* frame) {
  auto* extension = frame->extension_start;  // its type has other names in other releases
  if (!extension || extension->type != XLA_FFI_Extension_Metadata) return false;
  XLA_FFI_Metadata* metadata = ((XLA_FFI_Metadata_Extension*)extension)->metadata;
  metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  metadata->traits = 0;
  return true;
}

}  // namespace
}  // namespace airbayes

#define EXPORT(name)                                                             \
  extern "C" XLA_FFI_Error* airbayes_pointnet_##name(XLA_FFI_CallFrame* frame) { \
    if (airbayes::introduced(frame)) return nullptr;                             \
    try {                                                                        \
      return airbayes::name(frame);                                              \
    } catch (const std::exception& error) { /* no memory */                      \
      return airbayes::refuse(frame, error.what());                              \
    }                                                                            \
  }

EXPORT(scores)
EXPORT(pull_scores)
EXPORT(pull_log_likelihood)
