#include "harness/core/registry.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <tuple>

#include "harness/core/lab.h"
#include "harness/core/optional_dims.h"

namespace klab {
namespace {

// A function-local static, so that it exists before the first registrar in any initialization order.
std::vector<Variant>& registered() {
  static std::vector<Variant> list;
  return list;
}

/// Returns the places where CUDA variants can run. The order of registration is not known, so the one without
/// a condition is tried last.
std::vector<CudaPlace>& cuda_places() {
  static std::vector<CudaPlace> list;
  return list;
}

std::function<void()> bind_cuda(const std::string& id, ShapeView shape, std::span<void* const> pointers) {
  const CudaPlace* fallback = nullptr;
  for (const CudaPlace& place : cuda_places()) {
    if (place.chosen == nullptr)
      fallback = &place;
    else if (place.chosen())
      return place.bind(id, shape, pointers);
  }
  if (fallback == nullptr) throw std::logic_error(id + ": this program has nothing that executes CUDA");
  return fallback->bind(id, shape, pointers);
}

/// Returns an op. Labs and variants register in any order, so this is looked up when a variant is called.
const Op& op_of(const std::string& name) {
  const LabOp* op = find_op(name);
  if (op == nullptr) throw std::invalid_argument("no lab teaches " + name);
  return op->op;
}

[[noreturn]] void refuse_name(const std::string& id, const Variant& a, const Variant& b) {
  std::fprintf(
      stderr,
      "klab: %s is the name or a former name (.was) of two variants:\n  %s:%d\n  %s:%d\n"
      "A former name leads to one variant that is called otherwise now: take it out of one of the files.\n",
      id.c_str(), a.file.c_str(), a.line, b.file.c_str(), b.line);
  std::exit(2);
}

/// Checks that every present or former id belongs to one variant.
void require_own_names(const Variant& fresh) {
  const auto had = [](const Variant& v, const std::string& id) {
    return v.id == id || std::ranges::find(v.was, id) != v.was.end();
  };
  for (const Variant& known : registered()) {
    if (had(known, fresh.id)) refuse_name(fresh.id, known, fresh);
    for (const std::string& old : fresh.was)
      if (had(known, old)) refuse_name(old, known, fresh);
  }
  for (const std::string& old : fresh.was)
    if (old == fresh.id) refuse_name(old, fresh, fresh);
}

/// Merges another form of the same CUDA file into `known`. Returns false if it is another variant.
bool join(Variant& known, Variant& other) {
  if (known.file != other.file || known.line != other.line) return false;
  if (known.backend == "cpu" && bool(known.watched) != bool(other.watched)) {
    // The plain form decides everything else, whichever comes first.
    if (known.watched) std::swap(known, other);
    known.watched = std::move(other.watched);
    return true;
  }
  if (known.backend != "cuda") return false;
  // Only the module compiled for the GPU knows the requirements there, for example a library.
  const bool on_host = known.host || known.host_traced, on_device = bool(known.device);
  if (on_device != bool(other.device) && on_host != on_device)
    known.supported = [host = on_host ? known.supported : other.supported,
                       device = on_host ? other.supported : known.supported](ShapeView shape,
                                                                             const Host& here) {
      return here.gpu ? device(shape, here) : host(shape, here);
    };
  for (Variant::Bind Variant::*form : {&Variant::host, &Variant::host_traced, &Variant::device}) {
    if (!(other.*form)) continue;
    if (known.*form) return false;
    known.*form = std::move(other.*form);
  }
  return true;
}

}  // namespace

void name_from_path(Variant& v, const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t i = 0; i <= path.size(); ++i) {
    if (i < path.size() && path[i] != '/') continue;
    if (i > begin) parts.push_back(path.substr(begin, i - begin));
    begin = i + 1;
  }
  const size_t n = parts.size();
  if (n < 3) throw std::invalid_argument("variant path '" + path + "' is not <op>/<backend>/<rung>.<ext>");
  v.op = parts[n - 3];
  v.backend = parts[n - 2];
  v.rung = parts[n - 1].substr(0, parts[n - 1].find('.'));
  v.id = v.op + "." + v.backend + "." + v.rung;
}

void register_variant(Variant variant) {
  auto& list = registered();
  const auto key = [](const Variant& v) { return std::tie(v.op, v.backend, v.rung); };
  const auto at = std::lower_bound(list.begin(), list.end(), variant,
                                   [&](const Variant& a, const Variant& b) { return key(a) < key(b); });
  if (at != list.end() && at->id == variant.id) {
    if (join(*at, variant)) return;
    if (bool(at->watched) != bool(variant.watched) && at->file == variant.file) {
      std::fprintf(stderr,
                   "klab: the watched form of %s is of another version (line %d, not %d): build the target "
                   "klab_cpu_watched again.\n",
                   variant.id.c_str(), variant.line, at->line);
      std::exit(2);
    }
    std::fprintf(stderr, "klab: two variants are called %s:\n  %s:%d\n  %s:%d\nRename one of the files.\n",
                 variant.id.c_str(), at->file.c_str(), at->line, variant.file.c_str(), variant.line);
    std::exit(2);
  }
  require_own_names(variant);
  if (variant.backend == "cuda")
    variant.bind = [id = variant.id](ShapeView shape, std::span<void* const> pointers) {
      return bind_cuda(id, shape, pointers);
    };
  list.insert(at, std::move(variant));
}

void register_variant(const Registration& r) {
  Variant v;
  v.file = r.file;
  v.line = r.line;
  name_from_path(v, v.file);
  // Its function is called according to the contract of its folder.
  if (v.op != r.contract) {
    std::fprintf(
        stderr, "klab: %s:%d registers a variant of %.*s in the folder of %s.\nMove it to kernels/%.*s/%s.\n",
        r.file, r.line, int(r.contract.size()), r.contract.data(), v.op.c_str(), int(r.contract.size()),
        r.contract.data(), v.backend.c_str());
    std::exit(2);
  }
  const auto rung_of = [&](std::string_view op, std::string_view rung) {
    return rung.empty() || op.empty() ? std::string()
                                      : std::string(op) + "." + v.backend + "." + std::string(rung);
  };
  v.parent = rung_of(v.op, r.parent);
  v.forward = rung_of(r.forward_contract, r.forward);
  v.numerics = r.numerics;
  v.tiles = r.tiles;
  for (const char* tensor : r.needs) {
    v.needs.emplace_back(tensor);
    if (std::ranges::find(r.optional, v.needs.back()) != r.optional.end()) continue;
    std::fprintf(stderr,
                 "klab: %s:%d needs '%s', which is no optional tensor of %s.\nName it in the contract's "
                 "`optional`, or "
                 "leave it out: what is not optional is always given.\n",
                 r.file, r.line, tensor, v.op.c_str());
    std::exit(2);
  }
  v.expect = {r.expect.shape, r.expect.over_parent};
  v.when = {r.when.shape, std::string(r.when.because)};
  for (const std::string_view old : r.was)
    v.was.push_back(old.find('.') == old.npos ? rung_of(v.op, old) : std::string(old));
  v.peer = r.peer;
  v.pinned = r.pinned;
  v.targets = r.targets;
  keep_optional_names(v.op, r.optional);
  v.supported = [op = v.op, needs = v.needs, supported = r.supported](ShapeView shape, const Host& host) {
    if (const LabOp* its = find_op(op))
      for (size_t d = fewest_dims(its->op); d < shape.size(); ++d)
        if (shape[d] != 0 && std::ranges::find(needs, its->op.dims[d]) == needs.end())
          return "it takes no other " + its->op.dims[d] + " than 0";
    return supported ? op_of(op).supported(supported, shape, host) : std::string();
  };
  if (r.form == Form::cpu) v.function = r.run;
  Variant::Bind Variant::*slot = r.form == Form::cpu           ? &Variant::bind
                                 : r.form == Form::cpu_watched ? &Variant::watched
                                 : r.form == Form::host        ? &Variant::host
                                 : r.form == Form::host_traced ? &Variant::host_traced
                                                               : &Variant::device;
  v.*slot = [op = v.op, run = r.run](ShapeView shape, std::span<void* const> pointers) {
    return op_of(op).bind(run, shape, pointers);
  };
  register_variant(std::move(v));
}

void add_cuda_place(CudaPlace place) { cuda_places().push_back(std::move(place)); }

const std::vector<Variant>& variants() { return registered(); }

const Variant* find_variant(const std::string& id) {
  for (const Variant& v : variants())
    if (v.id == id) return &v;
  for (const Variant& v : variants())
    if (std::ranges::find(v.was, id) != v.was.end()) return &v;
  return nullptr;
}

std::string current_id(const std::string& id) {
  const Variant* v = find_variant(id);
  return v == nullptr ? id : v->id;
}

const Variant& trunk_of(const Variant& variant) {
  const Variant* v = &variant;
  while (v->branch()) {
    // Parents come earlier in the ladder, so this ends.
    const Variant* parent = find_variant(v->parent);
    if (parent == nullptr || parent->rung >= v->rung) return *naive_of(variant);
    v = parent;
  }
  return *v;
}

std::string place_in_ladder(const std::string& id) {
  const Variant* v = find_variant(id);
  if (v == nullptr || !v->branch()) return id;
  return trunk_of(*v).id + " " + v->id;
}

std::vector<const Variant*> variants_of(const std::string& op, const std::string& backend) {
  std::vector<const Variant*> found;
  for (const Variant& v : variants())
    if (v.op == op && (backend.empty() || v.backend == backend)) found.push_back(&v);
  return found;
}

std::vector<void*> given_to(const Variant& variant, std::span<const TensorSpec> specs,
                            std::span<void* const> pointers) {
  std::vector<void*> given(pointers.begin(), pointers.end());
  for (size_t k = 0; k < specs.size(); ++k)
    if (specs[k].optional && std::ranges::find(variant.needs, specs[k].name) == variant.needs.end())
      given[k] = nullptr;
  return given;
}

const Variant* naive_of(const Variant& variant) {
  for (const Variant& v : variants())
    if (v.op == variant.op && v.backend == variant.backend && !v.peer) return &v;
  return &variant;
}

}  // namespace klab
