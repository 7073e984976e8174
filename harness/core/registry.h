// The one list of variants. Everything that walks over variants walks over this.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/op.h"
#include "harness/core/variant.h"

namespace klab {

/// All registered variants, sorted by op, backend and rung.
const std::vector<Variant>& variants();

/// The variant that has that id or had it (Variant::was), or nullptr.
const Variant* find_variant(const std::string& id);

/// Variants of one op, in ladder order; every backend, or the given one.
std::vector<const Variant*> variants_of(const std::string& op, const std::string& backend = "");

/// What a variant of that id is called now; the id itself when no variant has or had it.
std::string current_id(const std::string& id);

/// The rung of the trunk at which a branch hangs: its nearest ancestor there. A rung of the trunk, or a peer, itself.
const Variant& trunk_of(const Variant& variant);

/// What ladders are sorted by where they are shown: each rung of the trunk, and behind it the branches that hang there.
/// An id that no variant has stands for itself.
std::string place_in_ladder(const std::string& id);

/// The pointers that a variant is given: null for optional tensors that it does not need, so that one which reads them all
/// the same is found out by whoever calls it so, not by its first user.
std::vector<void*> given_to(const Variant& variant, std::span<const TensorSpec> specs,
                            std::span<void* const> pointers);

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
