// The single list of variants, used by everything that iterates over variants.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/op.h"
#include "harness/core/variant.h"

namespace klab {

/// Returns all registered variants, sorted by op, backend and rung.
const std::vector<Variant>& variants();

/// Returns the variant with that present or former id (Variant::was), or nullptr.
const Variant* find_variant(const std::string& id);

/// Returns the variants of one op in ladder order, of every backend or the given one.
std::vector<const Variant*> variants_of(const std::string& op, const std::string& backend = "");

/// Returns the present id of a variant; the id itself if no variant has or had it.
std::string current_id(const std::string& id);

/// Returns the rung of the trunk that a branch belongs to: its nearest ancestor there. For a rung of the
/// trunk, or a peer, returns the variant itself.
const Variant& trunk_of(const Variant& variant);

/// Returns the key by which displayed ladders are sorted: each rung of the trunk, followed by its branches.
/// An unknown id is its own key.
std::string place_in_ladder(const std::string& id);

/// Returns the pointers that a variant gets: null for optional tensors that it does not need, so that a
/// variant which reads them anyway fails in the check, not at its first user.
std::vector<void*> given_to(const Variant& variant, std::span<const TensorSpec> specs,
                            std::span<void* const> pointers);

/// Returns the first rung of a variant's own ladder: the naive one that speedups are relative to.
const Variant* naive_of(const Variant& variant);

/// A place where CUDA variants can run. It is registered at program start by the room that executes them
/// (harness/simt, harness/gpu), of which the registry does not know.
struct CudaPlace {
  bool (*chosen)() = nullptr;  // returns whether to run there now; null: used if no other place is chosen
  /// Binds a variant's id, a shape and host pointers to a call. The pointers must outlive it.
  std::function<std::function<void()>(const std::string& id, ShapeView shape, std::span<void* const>)> bind;
};
void add_cuda_place(CudaPlace place);

}  // namespace klab
