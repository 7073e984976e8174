// klab call: runs one variant on tensors in a file.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "harness/check/cases.h"
#include "harness/check/check.h"
#include "harness/check/crash_guard.h"
#include "harness/cli/command.h"
#include "harness/core/buffers.h"
#include "harness/core/optional_dims.h"
#include "harness/core/select.h"
#include "harness/records/tensor_file.h"

namespace klab::call_command {
namespace {

struct Options {
  std::string variant, in, out;
  std::vector<std::string> shape;
};

/// Returns the name of a contract's element type in a safetensors file.
std::string dtype_of(Element element) {
  switch (element) {
    case Element::f32:
      return "F32";
    case Element::f64:
      return "F64";
    case Element::f16:
      return "F16";
    case Element::bf16:
      return "BF16";
    case Element::i8:
      return "I8";
    case Element::u8:
      return "U8";
    case Element::i32:
      return "I32";
    case Element::u32:
      return "U32";
    case Element::i64:
      return "I64";
  }
  return "";
}

bool is_given(const TensorSpec& spec) { return spec.role != Role::output; }

/// Returns by [tensor][k] which dimension of the op is dimension k of a tensor at every shape, or none.
std::vector<std::vector<std::optional<size_t>>> plain_dimensions(const LabOp& op) {
  std::vector<std::vector<std::optional<size_t>>> plain;
  // A relation that holds at every shape of the check is taken as a dimension of the op. Dimensions that
  // never vary would match anything.
  const auto shapes = check_shapes(op, {}, 1);
  for (const TensorSpec& spec : op.op.tensors(shapes.front())) {
    auto& dims = plain.emplace_back();
    for (size_t k = 0; k < spec.dims.size(); ++k) {
      auto& found = dims.emplace_back();
      for (size_t d = 0; d < op.op.dims.size() && !found; ++d) {
        bool varies = false, holds = true;
        for (const auto& shape : shapes) {
          const TensorSpec other = op.op.tensors(shape)[plain.size() - 1];
          holds = holds && k < other.dims.size() && other.dims[k] == shape[d];
          varies = varies || shape[d] != shapes.front()[d];
        }
        if (holds && varies) found = d;
      }
    }
  }
  return plain;
}

/// Parses "17,33" or "n=17,c=33"; unspecified dimensions are -1.
std::vector<int64_t> asked_shape(const Op& op, const std::vector<std::string>& words) {
  std::vector<int64_t> shape(op.dims.size(), -1);
  for (size_t d = fewest_dims(op); d < shape.size(); ++d) shape[d] = 0;
  const std::string dims = fmt::format("{}", fmt::join(op.dims, ", "));
  const auto number = [&](const std::string& text) {
    size_t used = 0;
    int64_t value = -1;
    try {
      value = std::stoll(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != text.size() || value < 0)
      throw std::invalid_argument(
          fmt::format("--shape: '{}' is no size; write 17,33 or n=17 ({} has {})", text, op.name, dims));
    return value;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t sign = words[i].find('=');
    if (sign == std::string::npos) {
      if (!fits_dims(op, words.size()))
        throw std::invalid_argument(
            fmt::format("--shape has {} numbers but {} takes {} ({}); single ones are named: {}=17",
                        words.size(), op.name, op.dims.size(), dims, op.dims.front()));
      shape[i] = number(words[i]);
      continue;
    }
    const auto at = std::ranges::find(op.dims, words[i].substr(0, sign));
    if (at == op.dims.end())
      throw NotFound("--shape: " +
                     not_found_text("dimension of " + op.name, words[i].substr(0, sign), op.dims));
    shape[size_t(at - op.dims.begin())] = number(words[i].substr(sign + 1));
  }
  return shape;
}

/// Returns the shape: specified dimensions, and the others from the tensors in the file.
std::vector<int64_t> shape_of_tensors(const LabOp& op, const Options& o,
                                      const std::map<std::string, TensorView>& given) {
  std::vector<int64_t> shape = asked_shape(op.op, o.shape);
  const auto plain = plain_dimensions(op);
  const auto specs = op.op.tensors(check_shapes(op, {}, 1).front());
  for (size_t t = 0; t < specs.size(); ++t) {
    const auto at = given.find(specs[t].name);
    if (at == given.end() || at->second.shape.size() != plain[t].size()) continue;
    for (size_t k = 0; k < plain[t].size(); ++k)
      if (plain[t][k] && shape[*plain[t][k]] < 0) shape[*plain[t][k]] = at->second.shape[k];
  }
  std::vector<std::string> unknown;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] < 0) unknown.push_back(op.op.dims[d] + "=...");
  if (!unknown.empty())
    throw std::invalid_argument(
        fmt::format("{}: its tensors do not say every dimension of {}; add --shape {}", o.in, op.op.name,
                    fmt::join(unknown, ",")));
  if (!op.op.valid(shape))
    throw std::invalid_argument(fmt::format("{}: {} is no shape of {}; see its contract, reference/{}/{}.h",
                                            o.in, shape_text(op.op, shape), op.op.name, op.op.name,
                                            op.op.name));
  return shape;
}

/// Throws if a tensor is not one of the op's, or if one is missing.
void require_names(const Variant& variant, const std::vector<TensorSpec>& specs, const std::string& file,
                   const std::map<std::string, TensorView>& given) {
  std::vector<std::string> names;
  for (const TensorSpec& s : specs)
    if (is_given(s)) names.push_back(s.name);
  const std::string takes = fmt::format("{} takes {}", variant.op, fmt::join(names, ", "));
  for (const auto& [name, view] : given) {
    const auto spec = std::ranges::find(specs, name, &TensorSpec::name);
    if (spec == specs.end())
      throw NotFound(
          fmt::format("{}: {}; {}", file, not_found_text("tensor of " + variant.op, name, names), takes));
    if (!is_given(*spec))
      throw std::invalid_argument(fmt::format("{}: tensor \"{}\" is an output of {}; leave it out ({})", file,
                                              name, variant.op, takes));
  }
  for (const TensorSpec& s : specs) {
    const bool needed = !s.optional || std::ranges::find(variant.needs, s.name) != variant.needs.end();
    if (!is_given(s) || !needed || given.contains(s.name)) continue;
    throw std::invalid_argument(
        fmt::format("{}: has no tensor \"{}\"; {}, as {}{}", file, s.name, takes, dtype_of(s.element),
                    s.role == Role::accumulate ? "; it is added to: begin with zeros" : ""));
  }
}

/// Throws if a tensor has another type or another shape.
void require_tensors(const Variant& variant, const std::vector<TensorSpec>& specs, const std::string& shape,
                     const std::string& file, const std::map<std::string, TensorView>& given) {
  for (const TensorSpec& s : specs) {
    const auto at = given.find(s.name);
    if (at == given.end()) continue;
    const TensorView& v = at->second;
    if (v.dtype != dtype_of(s.element))
      throw std::invalid_argument(fmt::format("{}: tensor \"{}\" is {}; {} takes {}: convert it", file,
                                              s.name, v.dtype, variant.op, dtype_of(s.element)));
    if (v.shape != s.dims)
      throw std::invalid_argument(
          fmt::format("{}: tensor \"{}\" is [{}]; at {} it must be [{}]: reshape it, or give --shape", file,
                      s.name, fmt::join(v.shape, ","), shape, fmt::join(s.dims, ",")));
  }
}

int run(const Options& o) {
  const Variant* variant = find_variant(o.variant);
  if (variant == nullptr) {
    std::vector<std::string> ids;
    for (const Variant& v : variants()) ids.push_back(v.id);
    throw NotFound(not_found_text("variant", o.variant, ids) + "\nklab list lists them.");
  }
  const LabOp& op = *find_op(variant->op);
  const TensorFile file(o.in);
  std::map<std::string, TensorView> given;
  for (const TensorView& v : file.tensors()) given[v.name] = v;
  require_names(*variant, op.op.tensors(check_shapes(op, {}, 1).front()), o.in, given);
  const std::vector<int64_t> shape = shape_of_tensors(op, o, given);
  const std::string words = shape_text(op.op, shape);
  const std::vector<TensorSpec> specs = op.op.tensors(shape);
  require_tensors(*variant, specs, words, o.in, given);
  if (const std::string why = variant->supported(shape, host_of(*variant)); !why.empty())
    throw std::invalid_argument(fmt::format("{} cannot run at {} here: {}; take another rung of {}",
                                            variant->id, words, why, variant->op));

  Tensors tensors(specs, Tensors::View::variant);
  for (size_t t = 0; t < specs.size(); ++t) {
    const auto at = given.find(specs[t].name);
    if (at == given.end())
      tensors[t].poison();
    else if (tensors[t].bytes() > 0)
      std::memcpy(tensors[t].data(), at->second.data, size_t(tensors[t].bytes()));
  }
  CrashGuard guard;
  guard.doing(fmt::format("{} at {} on the tensors of {}", variant->id, words, o.in));
  variant->bind(shape, given_to(*variant, specs, tensors.pointers()))();

  std::vector<TensorView> written;
  for (size_t t = 0; t < specs.size(); ++t) {
    if (specs[t].role == Role::input) continue;
    std::string where;
    if (!tensors[t].intact(&where))
      throw std::runtime_error(fmt::format("{} wrote outside of {}, {}: run klab check {}", variant->id,
                                           specs[t].name, where, variant->id));
    written.push_back({specs[t].name, dtype_of(specs[t].element), specs[t].dims, tensors[t].data()});
  }
  save_tensors(o.out, written, {{"variant", variant->id}, {"shape", words}});
  fmt::print("{} at {}\n", variant->id, words);
  for (const TensorView& v : written)
    fmt::print("  {:<12} {} [{}]\n", v.name, v.dtype, fmt::join(v.shape, ","));
  fmt::print("written   {}\n", o.out);
  return exit_ok;
}

KLAB_COMMAND(
    {.name = "call",
     .summary = "Run a variant on tensors of a safetensors file",
     .details = "klab call softmax_xent_fwd.cpu.03_simd --in x.safetensors --out y.safetensors\n"
                "The tensors have the names, element types and shapes of the contract "
                "(reference/<op>/<op>.h); those that an\n"
                "op adds to are read from IN as well. What the tensors do not say of the shape is named:\n"
                "klab call conv2d_fwd.cpu.01_naive --in x.safetensors --out y.safetensors --shape "
                "stride_y=1,stride_x=1,...\n"
                "CUDA variants run on the host executor, or on a GPU where that is chosen.",
     .setup = [](CLI::App& app) -> std::function<int()> {
       auto o = std::make_shared<Options>();
       app.add_option("variant", o->variant, "a variant, e.g. matmul.cpu.01_naive")
           ->required()
           ->option_text("VARIANT");
       app.add_option("--in", o->in, "safetensors file with the inputs")->required();
       app.add_option("--out", o->out, "safetensors file to write the outputs to")->required();
       app.add_option("--shape", o->shape, "all dimensions in order, or some by name: n=17,c=33")
           ->delimiter(',');
       return [o] { return run(*o); };
     }});

}  // namespace
}  // namespace klab::call_command
