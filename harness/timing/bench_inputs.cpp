#include "harness/timing/bench_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "harness/core/bytes.h"
#include "harness/timing/flush.h"
#include "harness/timing/machine.h"
#include "reference/generator.h"

namespace klab {
namespace {

int64_t footprint_of(const std::vector<TensorSpec>& specs) {
  int64_t bytes = 0;
  for (const TensorSpec& s : specs) bytes += volume(s.dims) * size_of(s.element);
  return bytes;
}

void draw(const LabOp& op, ShapeView shape, const std::vector<TensorSpec>& specs, Tensors& tensors,
          uint64_t seed) {
  Generator random(seed);
  for (size_t k = 0; k < specs.size(); ++k) {
    if (specs[k].role == Role::output) {
      tensors[k].poison();
    } else if (specs[k].element != Element::f32 || specs[k].draw == Draw::arranged) {
      if (tensors[k].bytes() > 0) std::memset(tensors[k].data(), 0, size_t(tensors[k].bytes()));
    } else {
      // A plain generator: large inputs are drawn in a moment, and timing does not depend on their quality.
      std::minstd_rand fast{unsigned(random() | 1)};
      const float low = specs[k].draw == Draw::unit ? 0.F : -1.F;
      constexpr unsigned kCoarser = 256;  // what a float can hold of it
      constexpr unsigned kValues = std::minstd_rand::max() / kCoarser + 1;
      const float scale = (1.F - low) / float(kValues);
      float* p = tensors[k].as<float>();
      for (int64_t i = 0, n = volume(specs[k].dims); i < n; ++i) {
        const unsigned drawn = unsigned(fast()) / kCoarser;
        p[i] = low + scale * float(drawn);
      }
    }
  }
  if (op.op.arrange) op.op.arrange(shape, tensors.pointers(), random);
}

}  // namespace

int64_t copies_for_cold(int64_t footprint, int64_t last_level, int64_t memory, int caches) {
  if (footprint <= 0) return 1;
  const int64_t wanted = 1 + (caches * last_level + footprint - 1) / footprint;
  return std::clamp<int64_t>(std::min(wanted, memory / footprint), 1, 8192);
}

BenchInputs::BenchInputs(const LabOp& op, ShapeView shape, Cache cache, uint64_t seed, int caches,
                         std::optional<int64_t> cold_bytes)
    : specs_(op.op.tensors(shape)), text_("hot") {
  const int64_t footprint = footprint_of(specs_), memory = free_memory() / 2;
  if (footprint > memory)
    throw std::invalid_argument(
        fmt::format("{}: one set of operands takes {:.1f} GB, and half of the free memory is {:.1f} GB",
                    op.op.name, double(footprint) * 1e-9, double(memory) * 1e-9));
  const int64_t last = last_level_bytes(this_machine());
  const int64_t more = cold_bytes ? *cold_bytes : std::max(kMostColdBytes, footprint);
  const int64_t count =
      cache == Cache::cold ? copies_for_cold(footprint, last, std::min(memory, footprint + more), caches) : 1;
  for (int64_t c = 0; c < count; ++c) {
    copies_.push_back(std::make_unique<Tensors>(specs_, Tensors::View::variant));
    if (c == 0) {
      draw(op, shape, specs_, *copies_[0], seed);
      continue;
    }
    for (size_t k = 0; k < specs_.size(); ++k)
      if (const int64_t bytes = (*copies_[0])[k].bytes(); bytes > 0)
        std::memcpy((*copies_.back())[k].data(), (*copies_[0])[k].data(), size_t(bytes));
  }
  if (cache == Cache::cold) {
    const double each = double(footprint) * 1e-6;
    text_ = count == 1 ? fmt::format("cold: {:.4g} MB", each)
                       : fmt::format("cold: {} copies of {:.4g} MB", count, each);
    if ((count - 1) * footprint < last) give_up_sweep(last);
  }
  for (const TensorSpec& s : specs_) accumulates_ = accumulates_ || s.role == Role::accumulate;
  if (!accumulates_) return;
  first_ = std::make_unique<Tensors>(specs_, Tensors::View::variant);
  for (size_t k = 0; k < specs_.size(); ++k)
    if (specs_[k].role == Role::accumulate && (*first_)[k].bytes() > 0)
      std::memcpy((*first_)[k].data(), (*copies_[0])[k].data(), size_t((*first_)[k].bytes()));
}

void BenchInputs::give_up_sweep(int64_t last_level) {
  flushed_ = can_flush();
  text_ += flushed_ ? ", flushed before each sample" : ", fewer than would empty the cache";
  gave_up_ = fmt::format(
      "{} of copies would not empty a last-level cache of {}: {}",
      bytes_text((copies() - 1) * copies_[0]->bytes()), bytes_text(last_level),
      flushed_ ? "their lines are flushed before each sample, and what is written may stay in the cache"
               : "cold times are those of a warmer cache");
}

void BenchInputs::flush() const {
  for (const auto& copy : copies_)
    for (size_t k = 0; k < copy->size(); ++k) flush_from_caches((*copy)[k].data(), (*copy)[k].bytes());
}

void BenchInputs::reset(int64_t copy) {
  Tensors& t = *copies_[size_t(copy)];
  for (size_t k = 0; k < specs_.size(); ++k) {
    if (specs_[k].role == Role::output) t[k].poison();
    if (specs_[k].role == Role::accumulate && t[k].bytes() > 0)
      std::memcpy(t[k].data(), (*first_)[k].data(), size_t(t[k].bytes()));
  }
}

uint64_t BenchInputs::hash_of_outputs(int64_t copy) const {
  const Tensors& t = *copies_[size_t(copy)];
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  };
  for (size_t k = 0; k < specs_.size(); ++k) {
    if (specs_[k].role == Role::input) continue;
    const auto* p = t[k].as<char>();
    const int64_t bytes = t[k].bytes();
    for (int64_t i = 0; i < bytes; i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, p + i, size_t(std::min<int64_t>(8, bytes - i)));
      mix(word);
    }
  }
  return hash;
}

}  // namespace klab
