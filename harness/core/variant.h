// A type-erased variant: everything that the harness knows about a kernel file.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/registrar.h"

namespace klab {

/// A prediction made before measuring: at this shape, the variant is at least this much faster than its
/// parent. Reports print the outcome; a shape of {} makes no claim.
struct Expect {
  std::vector<int64_t> shape;
  double over_parent = 1.0;
};

/// The size at which a branch pays, and the reason; a shape of {} for a rung of the trunk.
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
  std::vector<std::string> needs;  // the contract's optional tensors that it reads
  Expect expect;
  Branch when;
  std::vector<std::string> was;  // former ids, latest last
  bool peer = false;
  bool pinned = false;
  int64_t targets =
      0;  // instruction sets that its vectors are compiled for, as bits of Highway; 0: it has none
  std::function<std::string(ShapeView, const Host&)> supported;
  /// Binds a shape and pointers (in the contract's order) to a callable. The pointers must outlive it.
  using Bind = std::function<std::function<void()>(ShapeView, std::span<void* const>)>;
  Bind bind;  // takes host pointers
  /// A CPU variant compiled so that each access of its threads is seen (harness/check/thread_races.h); empty: there is no such form.
  Bind watched;
  /// VariantSpec<Contract>::run of a CPU variant; null for all others. klab::call() restores its type.
  Untyped function = nullptr;
  /// CUDA variants: the forms the file was compiled in, each called with pointers of its device. The host
  /// executor (harness/simt) has two, one of which watches every access; the third is for the GPU.
  Bind host, host_traced, device;

  /// Returns whether the variant is a branch: it pays at one size only, and learners skip it. Vendor
  /// baselines are neither trunk nor branch.
  bool branch() const { return !when.shape.empty(); }
  bool trunk() const { return !peer && !branch(); }
};

/// Adds to the registry. Another form of a CUDA variant is merged with the first. Any other second variant of
/// an id ends the program with a message that names both files, and so does a former id that another variant
/// has or had.
void register_variant(Variant variant);

/// Sets op, backend, rung and id from a path ".../<op>/<backend>/<rung>.<ext>". Throws std::invalid_argument
/// if the path has another form.
void name_from_path(Variant& variant, const std::string& path);

}  // namespace klab
