// The one list of variants. Everything that walks over variants walks over this.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/variant.h"

namespace klab {

/// All registered variants, sorted by op, backend and rung.
const std::vector<Variant>& variants();

/// The variant of that id, or nullptr.
const Variant* find_variant(const std::string& id);

/// Variants of one op, in ladder order; every backend, or the given one.
std::vector<const Variant*> variants_of(const std::string& op, const std::string& backend = "");

/// The first rung of a variant's own ladder: the naive one that speedups are counted from.
const Variant* naive_of(const Variant& variant);

/// Somewhere CUDA variants can run, told by the room that executes them there (harness/simt, harness/gpu) when the
/// program starts: the registry knows of neither.
struct CudaPlace {
  bool (*chosen)() = nullptr;  // whether to run there now; null: where no other place is chosen
  /// Ties a variant's id, a shape and pointers of the host to a call. The pointers must outlive it.
  std::function<std::function<void()>(const std::string& id, ShapeView shape, std::span<void* const>)> bind;
};
void add_cuda_place(CudaPlace place);

}  // namespace klab
