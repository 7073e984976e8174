// A variant with its contract forgotten: what the harness knows of a kernel file.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/registrar.h"

namespace klab {

/// A prediction, written before measuring: at this shape, at least this much faster than the parent.
/// Reports print what came of it; a shape of {} makes no claim.
struct Expect {
  std::vector<int64_t> shape;
  double over_parent = 1.0;
};

/// The size at which a branch pays, and why there; a shape of {} for a rung of the trunk.
struct Branch {
  std::vector<int64_t> shape;
  std::string because;
};

struct Variant {
  std::string id;       // matmul.cpu.04_cache_tile
  std::string op;       // matmul
  std::string backend;  // cpu | cuda
  std::string rung;     // 04_cache_tile
  std::string file;     // as the compiler was given it
  int line = 0;
  std::string parent;   // id, or empty
  std::string forward;  // id, or empty
  Numerics numerics;
  std::vector<int64_t> tiles;
  std::vector<std::string> needs;  // optional tensors of the contract that it reads
  Expect expect;
  Branch when;
  std::vector<std::string> was;  // ids it had before, the latest last
  bool peer = false;
  bool pinned = false;
  std::function<std::string(ShapeView, const Host&)> supported;
  /// Ties shape and pointers (in the contract's order) into something to call. The pointers must outlive it.
  using Bind = std::function<std::function<void()>(ShapeView, std::span<void* const>)>;
  Bind bind;  // pointers of the host
  /// VariantSpec<Contract>::run of a CPU variant; null for all others. klab::call() gives it its type back.
  Untyped function = nullptr;
  /// CUDA variants: the forms the file was compiled in, each called with pointers of its device. The host executor
  /// (harness/simt) has two, one of them with every access watched; then there is the GPU.
  Bind host, host_traced, device;

  /// No part of what a learner climbs: pays at one size only. Vendor baselines are neither trunk nor branch.
  bool branch() const { return !when.shape.empty(); }
  bool trunk() const { return !peer && !branch(); }
};

/// Adds to the registry. Another form of a CUDA variant joins the first; any other second variant of an id ends the
/// program, naming both files, and so does a former id that another variant has or had.
void register_variant(Variant variant);

/// Fills op, backend, rung and id from a path ".../<op>/<backend>/<rung>.<ext>". Throws std::invalid_argument
/// when the path has no such form.
void name_from_path(Variant& variant, const std::string& path);

}  // namespace klab
