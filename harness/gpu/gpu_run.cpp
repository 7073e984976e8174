#include "harness/gpu/gpu_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>

#include "harness/bench_inputs.h"
#include "harness/check.h"
#include "reference/generator.h"

namespace klab {
namespace {

constexpr size_t kFence = 256;  // bytes before and behind, so that what is between keeps its alignment
constexpr unsigned char kPattern = 0xFD;

size_t bytes_of(const TensorSpec& spec) { return size_t(volume(spec.dims) * size_of(spec.element)); }

/// Of one variant, its calls on each set of tensors.
struct Timed {
  Series* series;
  std::vector<std::function<void()>> calls;
  size_t next = 0;
  void call() {
    calls[next]();
    next = (next + 1) % calls.size();
  }
  double seconds(const Gpu& gpu, int64_t times) {
    gpu.begin();
    for (int64_t i = 0; i < times; ++i) call();
    return gpu.end();
  }
};

}  // namespace

Place place_of(const LabOp& op, const Variant& variant) {
  return !op.op.on_host ? Place::device : variant.pinned ? Place::pinned : Place::host;
}

void* GpuTensors::alloc(size_t bytes) const {
  if (place_ == Place::device) return gpu_.alloc(bytes);
  if (place_ == Place::pinned) return gpu_.alloc_pinned(bytes);
  return ::operator new(bytes, std::align_val_t(kFence));
}

void GpuTensors::free(void* p) const {
  if (place_ == Place::device) return gpu_.free(p);
  if (place_ == Place::pinned) return gpu_.free_pinned(p);
  ::operator delete(p, std::align_val_t(kFence));
}

void GpuTensors::put(void* to, const void* from, size_t bytes) const {
  if (place_ == Place::device) return gpu_.upload(to, from, bytes);
  std::memcpy(to, from, bytes);
}

void GpuTensors::take(void* to, const void* from, size_t bytes) const {
  if (place_ == Place::device) return gpu_.download(to, from, bytes);
  std::memcpy(to, from, bytes);
}

GpuTensors::GpuTensors(const Gpu& gpu, const LabOp& op, ShapeView shape, Place place)
    : gpu_(gpu), place_(place), specs_(op.op.tensors(shape)) {
  const std::vector<unsigned char> fence(kFence, kPattern);
  for (const TensorSpec& spec : specs_) {
    const size_t n = bytes_of(spec);
    auto* begin = static_cast<char*>(alloc(n + 2 * kFence)) + kFence;
    pointers_.push_back(begin);
    put(begin - kFence, fence.data(), kFence);
    put(begin + n, fence.data(), kFence);
  }
}

GpuTensors::~GpuTensors() {
  for (void* p : pointers_) free(static_cast<char*>(p) - kFence);
}

int64_t GpuTensors::bytes() const {
  int64_t sum = 0;
  for (const TensorSpec& spec : specs_) sum += int64_t(bytes_of(spec));
  return sum;
}

void GpuTensors::upload(std::span<void* const> host) {
  for (size_t k = 0; k < specs_.size(); ++k)
    if (const size_t n = bytes_of(specs_[k]); n > 0) put(pointers_[k], host[k], n);
}

void GpuTensors::download(std::span<void* const> host) const {
  for (size_t k = 0; k < specs_.size(); ++k)
    if (const size_t n = bytes_of(specs_[k]); n > 0) take(host[k], pointers_[k], n);
}

void GpuTensors::require_fences() const {
  std::vector<unsigned char> fence(kFence);
  for (size_t k = 0; k < specs_.size(); ++k) {
    auto* begin = static_cast<char*>(pointers_[k]);
    const size_t n = bytes_of(specs_[k]);
    for (const bool behind : {false, true}) {
      take(fence.data(), behind ? begin + n : begin - kFence, kFence);
      for (size_t i = 0; i < kFence; ++i) {
        const size_t off = behind ? i : kFence - 1 - i;
        if (fence[off] != kPattern)
          throw std::runtime_error(fmt::format("{} was written {} bytes {}", specs_[k].name,
                                               behind ? i : i + 1,
                                               behind ? "past its end" : "before its beginning"));
      }
    }
  }
}

std::function<void()> gpu_bind(const std::string& id, ShapeView shape, std::span<void* const> pointers) {
  std::string why;
  const Gpu* device = gpu(&why);
  if (device == nullptr) throw std::runtime_error("no GPU here: " + why);
  const Variant* variant = find_variant(id);
  if (!variant->device) throw std::logic_error(id + " was not compiled for a GPU");
  const LabOp& op = *find_op(variant->op);
  auto tensors = std::make_shared<GpuTensors>(*device, op, shape, place_of(op, *variant));
  return [device, tensors, call = variant->device(shape, tensors->pointers()),
          host = std::vector<void*>(pointers.begin(), pointers.end())] {
    tensors->upload(host);
    call();
    device->synchronize();
    tensors->download(host);
    tensors->require_fences();
  };
}

std::vector<Series> time_on_gpu(const LabOp& op, const BenchShape& shape,
                                std::span<const Variant* const> variants, const BenchOptions& options) {
  const Gpu& device = *gpu();
  std::vector<Series> list(variants.size());
  BenchInputs inputs(op, shape.shape, Cache::hot, options.seed);
  // Variants whose tensors lie in the same kind of memory share them.
  std::map<Place, std::vector<std::unique_ptr<GpuTensors>>> all_sets;
  const auto sets_in = [&](Place place) -> const auto& {
    auto& sets = all_sets[place];
    const auto add = [&] { sets.push_back(std::make_unique<GpuTensors>(device, op, shape.shape, place)); };
    if (sets.empty()) add();
    const int64_t wanted =
        shape.cache == Cache::cold && place == Place::device
            ? copies_for_cold(sets[0]->bytes(), int64_t(device.l2), int64_t(device.memory / 2))
            : 1;
    while (int64_t(sets.size()) < wanted) add();
    return sets;
  };
  std::vector<Timed> timed;
  for (size_t k = 0; k < variants.size(); ++k) {
    const Variant& v = *variants[k];
    list[k].variant = v.id;
    list[k].skipped = !v.device ? "not compiled for a GPU" : v.supported(shape.shape, this_host());
    if (!list[k].skipped.empty()) continue;
    Timed one{.series = &list[k], .calls = {}};
    const auto& sets = sets_in(place_of(op, v));
    for (const auto& set : sets) one.calls.push_back(v.device(shape.shape, set->pointers()));
    try {
      for (const auto& set : sets) set->upload(inputs.pointers(0));
      one.call();  // loads the kernel
      device.synchronize();
      const double once = std::max(one.seconds(device, 1), 1e-7);
      if (once > options.call_cap_seconds) {
        list[k].skipped =
            fmt::format("one call takes {:.2g} s; the cap is {:.2g} s", once, options.call_cap_seconds);
        continue;
      }
      list[k].iterations = std::max<int64_t>(1, int64_t(options.sample_seconds / once));
      timed.push_back(std::move(one));
    } catch (const std::exception& e) {
      list[k].wrong = fmt::format("threw: {}", e.what());
    }
  }
  Generator random(options.seed);
  for (int round = 0; round < options.rounds; ++round) {
    if (options.progress) options.progress(op.op.name + " on the GPU, " + shape.name, round, options.rounds);
    std::shuffle(timed.begin(), timed.end(), random);
    for (Timed& t : timed) {
      if (options.stop && options.stop()) return list;
      t.call();  // whoever ran before left its own data in L2
      t.series->seconds.push_back(t.seconds(device, t.series->iterations) / double(t.series->iterations));
    }
  }
  return list;
}

}  // namespace klab
