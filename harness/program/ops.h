// What a program of ops is written against. A step calls ops by their contracts, in order, from top to bottom:
//
//   ops.call<RayMarch>({.rays = rays, ...}, {.origins = origins, ..., .t = t});
//   ops.call<MlpFwd>(density(samples), {.x = features, .weights = weights, .y = raw}, " density");
//
// Run (RunOps), that calls the rungs of a plan, and a backend that can records it; measured (MeasureOps), it says which calls a
// plan needs and which tensors a memory. What is called may depend on settings alone, never on a number that an op writes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/call.h"

namespace klab {

/// One call of an op, or a fill where `op` is empty. Valid during the call.
struct OpCall {
  /// A tensor of the contract.
  struct Slot {
    std::string name;
    bool optional;
    size_t at;  // bytes from the begin of the contract's arguments
  };
  std::string_view op = {}, stage = {}, suffix = {};  // the stage in a profile is both, one after the other
  std::span<const int64_t> shape = {};                // of a fill: the byte, and how many
  std::span<void* const> tensors = {};                // in the order of the contract
  std::span<const Slot> slots = {};
};

class Ops {
 public:
  virtual ~Ops() = default;

  /// Calls the contract's op. Its stage in a profile is its name and `suffix`, or that of a scope.
  template <class Contract>
  void call(const typename Contract::Shape& shape, const typename Contract::template Args<float>& args,
            std::string_view suffix = {}) {
    visit<Contract>(shape, args, suffix, [this](const OpCall& c) { do_call(c); });
  }
  /// Calls an op that does the work of several, and returns true, where the plan has it. Measuring counts it and returns false,
  /// so that the others are counted, too.
  template <class Contract>
  bool fused(bool allowed, const typename Contract::Shape& shape,
             const typename Contract::template Args<float>& args) {
    bool called = false;
    if (allowed) visit<Contract>(shape, args, {}, [&](const OpCall& c) { called = do_fused(c); });
    return called;
  }
  /// Fills memory with one byte.
  void fill(std::string_view stage, void* tensor, uint8_t byte, int64_t bytes) {
    const int64_t what[] = {byte, bytes};
    do_call({.stage = scope_.empty() ? stage : scope_, .shape = what, .tensors = {&tensor, 1}});
  }

  /// Calls made while it lives belong to one stage that is not an op's.
  class Scope {
   public:
    Scope(Ops& ops, std::string_view stage) : ops_(ops), before_(ops.scope_) { ops.scope_ = stage; }
    ~Scope() { ops_.scope_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Ops& ops_;
    std::string_view before_;
  };
  [[nodiscard]] Scope within(std::string_view stage) { return {*this, stage}; }

 protected:
  virtual void do_call(const OpCall& call) = 0;
  virtual bool do_fused(const OpCall& call) = 0;

 private:
  /// Returns where the contract's arguments hold its tensors, which is the same for all shapes; some contracts name tensors of
  /// valid shapes only.
  template <class Contract>
  static std::vector<OpCall::Slot> slots_of(const typename Contract::Shape& shape) {
    std::vector<OpCall::Slot> slots;
    typename Contract::template Args<float> args{};
    args.shape = shape;
    Contract::tensors(args, [&](std::string_view name, auto& pointer, Role, Draw, const Dims&) {
      slots.push_back(
          {std::string(name), is_optional<Contract>(name),
           size_t(reinterpret_cast<const char*>(&pointer) - reinterpret_cast<const char*>(&args))});
    });
    return slots;
  }

  template <class Contract, class Use>
  void visit(const typename Contract::Shape& shape, const typename Contract::template Args<float>& args,
             std::string_view suffix, Use&& use) {
    static const std::vector<OpCall::Slot> slots = slots_of<Contract>(shape);
    constexpr size_t kMost = sizeof(args) / sizeof(void*);
    std::array<void*, kMost> tensors;
    for (size_t i = 0; i < slots.size(); ++i)
      std::memcpy(&tensors[i], reinterpret_cast<const char*>(&args) + slots[i].at, sizeof(void*));
    const auto sizes = std::bit_cast<std::array<int64_t, sizeof(shape) / sizeof(int64_t)>>(shape);
    use(OpCall{.op = Contract::name,
               .stage = scope_.empty() ? Contract::name : scope_,
               .suffix = scope_.empty() ? suffix : std::string_view(),
               .shape = sizes,
               .tensors = {tensors.data(), slots.size()},
               .slots = slots});
  }

  std::string_view scope_;
};

}  // namespace klab
