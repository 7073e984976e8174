#include "labs/radiance/field/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace klab {
namespace {

// The op that does the work of four in one, and these.
constexpr const char* kFused = "composite_loss_bwd";
constexpr const char* kFusedParts[] = {"composite_fwd", "pixel_loss_fwd", "pixel_loss_bwd", "composite_bwd"};

const Variant& naive(const std::string& op) {
  for (const Variant* v : variants_of(op, "cpu"))
    if (!v->peer) return *v;
  throw std::runtime_error("no variant of " + op + " is built in");
}

// Ladders end with their fastest rung in single precision by construction; half and bfloat16 rungs change the
// result and are taken by name only.
const Variant& best(const std::string& op) {
  const Variant* found = &naive(op);
  for (const Variant* v : variants_of(op, "cpu"))
    if (!v->peer && v->numerics.unit == Unit::f32 && v->numerics.deterministic) found = v;
  return *found;
}

}  // namespace

const std::vector<std::string>& plan_ops() {
  static const std::vector<std::string> ops = {
      "ray_march", "hashgrid_fwd", "mlp_fwd", "sh_fwd", "composite_fwd", "pixel_loss_fwd", "pixel_loss_bwd",
      "composite_bwd", "composite_loss_bwd", "mlp_bwd", "hashgrid_bwd", "adam",
      // Of losses that a config may ask for.
      "opacity_entropy_fwd", "opacity_entropy_bwd", "distortion_fwd", "distortion_bwd"};
  return ops;
}

Plan Plan::named(const std::string& name) {
  Plan plan;
  for (const std::string& op : plan_ops()) plan.choices_[op] = name == "naive" ? &naive(op) : &best(op);
  if (name == "naive") plan.choices_.erase(kFused);
  if (name == "best" || name == "naive") return plan;
  std::ifstream in(name);
  if (!in)
    throw std::runtime_error(
        fmt::format("plan {}: is neither \"best\" nor \"naive\" nor a file that can be read", name));
  nlohmann::json document;
  try {
    document = nlohmann::json::parse(in);
  } catch (const nlohmann::json::parse_error& e) {
    throw std::runtime_error(fmt::format("plan {}: not valid JSON near byte {}", name, e.byte));
  }
  if (!document.is_object())
    throw std::runtime_error(fmt::format("plan {}: must be an object {{\"op\": \"variant id\"}}", name));
  for (const auto& [op, value] : document.items()) {
    if (plan.choices_.count(op) == 0)
      throw std::runtime_error(fmt::format("plan {}: \"{}\" is no op of the trainer; they are {}", name, op,
                                           fmt::join(plan_ops(), ", ")));
    if (op == kFused && value.is_null()) continue;
    const Variant* v = value.is_string() ? find_variant(value.get<std::string>()) : nullptr;
    if (!v || v->op != op)
      throw std::runtime_error(fmt::format("plan {}: \"{}\": {} is no variant of it (see `klab list {}`)",
                                           name, op, value.dump(), op));
    plan.choices_[op] = v;
  }
  // Whoever names a rung of the ops that it takes the place of wants to see that run.
  const auto named = [&](const char* op) { return document.contains(op); };
  if (named(kFused) ? document[kFused].is_null()
                    : std::any_of(std::begin(kFusedParts), std::end(kFusedParts), named))
    plan.choices_.erase(kFused);
  return plan;
}

void Plan::run(const std::string& op, ShapeView shape, std::initializer_list<const void*> pointers) const {
  std::array<void*, 16> list{};
  size_t count = 0;
  for (const void* p : pointers) list.at(count++) = const_cast<void*>(p);
  choices_.at(op)->bind(shape, std::span(list.data(), count))();
}

}  // namespace klab
