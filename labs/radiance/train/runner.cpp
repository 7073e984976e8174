#include "labs/radiance/train/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "harness/check/cases.h"
#include "harness/program/memory.h"

namespace klab {

namespace {

constexpr size_t kSmall = 1 << 20, kLine = 64;  // bytes

}  // namespace

Backend cpu_backend() {
  auto arrays = std::make_shared<std::map<void*, Array<uint8_t>>>();
  Backend b;
  b.name = "cpu";
  b.alloc = [arrays](size_t bytes, const std::string&) -> void* {
    // An Array takes whole large pages: many small tensors would waste memory.
    if (bytes < kSmall) {
      announce_allocation(int64_t(bytes));
      void* p = std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine);
      if (p == nullptr) throw std::bad_alloc();
      return std::memset(p, 0, bytes);
    }
    Array<uint8_t> array{int64_t(bytes)};
    void* p = array.data();
    arrays->emplace(p, std::move(array));
    return p;
  };
  b.free = [arrays](void* p, size_t bytes) {
    if (bytes < kSmall)
      std::free(p);
    else
      arrays->erase(p);
  };
  b.upload = b.download = [](void* to, const void* from, size_t bytes) {
    if (to != from) std::memcpy(to, from, bytes);
  };
  b.fill = [](void* p, uint8_t byte, size_t bytes) {
    constexpr size_t kPiece = 1 << 16;
    auto* begin = static_cast<char*>(p);
#pragma omp parallel for schedule(static) if (bytes > 4 * kPiece)
    for (size_t at = 0; at < bytes; at += kPiece) std::memset(begin + at, byte, std::min(kPiece, bytes - at));
  };
  b.bind = [](const Variant& v, ShapeView shape, std::span<void* const> pointers) {
    return v.bind(shape, pointers);
  };
  b.wait = [] {};
  return b;
}

Runner::Runner(const Arena& arena, Backend backend)
    : arena_(arena),
      backend_(std::move(backend)),
      addresses_(arena.tensors().size(), nullptr),
      mirrors_(arena.tensors().size(), nullptr),
      values_(arena.symbols().size(), 0) {}

Runner::~Runner() {
  for (size_t i = 0; i < addresses_.size(); ++i)
    if (addresses_[i] != nullptr && !(backend_.in_host_memory && mirrors_[i] != nullptr))
      backend_.free(addresses_[i], size_t(arena_.bytes(arena_.tensors()[i])));
}

void Runner::mirror(const void* tensor, void* host) {
  mirrors_[size_t(Arena::place_of(tensor).tensor)] = static_cast<char*>(host);
}

namespace {

/// Returns for each tensor whether a list names it; without lists, all are named.
std::vector<bool> named_in(const Arena& arena, std::span<const OpList* const> lists) {
  std::vector<bool> named(arena.tensors().size(), lists.empty());
  for (const OpList* list : lists)
    for (const OpCall& call : list->calls())
      for (const void* p : call.tensors)
        if (const int tensor = Arena::place_of(p).tensor; tensor >= 0) named[size_t(tensor)] = true;
  return named;
}

}  // namespace

int64_t Runner::bytes_of(const Arena& arena, std::span<const OpList* const> lists) {
  const std::vector<bool> named = named_in(arena, lists);
  int64_t sum = 0;
  for (size_t i = 0; i < named.size(); ++i)
    if (named[i]) sum += arena.bytes(arena.tensors()[i]);
  return sum;
}

void Runner::allocate(std::span<const OpList* const> lists) {
  const std::vector<bool> named = named_in(arena_, lists);
  for (size_t i = 0; i < addresses_.size(); ++i) {
    const Arena::Tensor& t = arena_.tensors()[i];
    if (!named[i] && mirrors_[i] == nullptr) continue;
    if (backend_.in_host_memory && mirrors_[i] != nullptr)
      addresses_[i] = mirrors_[i];
    else if (const int64_t bytes = arena_.bytes(t); bytes > 0)
      addresses_[i] = static_cast<char*>(backend_.alloc(size_t(bytes), t.name));
  }
}

void Runner::pull(const void* tensor) const {
  const auto i = size_t(Arena::place_of(tensor).tensor);
  const auto bytes = size_t(arena_.bytes(arena_.tensors()[i]));
  if (mirrors_[i] != nullptr && bytes > 0) backend_.download(mirrors_[i], addresses_[i], bytes);
}

void Runner::push() {
  for (size_t i = 0; i < mirrors_.size(); ++i)
    if (mirrors_[i] != nullptr && mirrors_[i] != addresses_[i])
      backend_.upload(addresses_[i], mirrors_[i], size_t(arena_.bytes(arena_.tensors()[i])));
}

void Runner::pull() const {
  for (size_t i = 0; i < mirrors_.size(); ++i)
    if (mirrors_[i] != nullptr && mirrors_[i] != addresses_[i])
      backend_.download(mirrors_[i], addresses_[i], size_t(arena_.bytes(arena_.tensors()[i])));
}

int64_t Runner::size(int64_t dim) const {
  if (!Arena::is_symbol(dim)) return dim;
  const Arena::Symbol& s = arena_.symbols()[Arena::symbol_of(dim)];
  if (s.kind == Arena::Kind::padding) return backend_.exact ? 0 : 1;
  if (s.kind == Arena::Kind::product) return s.factor * size(s.of);
  if (s.kind == Arena::Kind::choice) return values_[Arena::symbol_of(dim)];
  if (!backend_.exact) return s.most;
  if (s.kind == Arena::Kind::part) return std::clamp(size(s.of) - s.index, int64_t{0}, s.most);
  if (s.kind == Arena::Kind::extent) return values_[Arena::symbol_of(dim)];
  int32_t value = 0;
  backend_.download(&value, addresses_[size_t(s.tensor)] + size(s.index) * int64_t(sizeof value),
                    sizeof value);
  return value;
}

char* Runner::resolve(const void* pointer) const {
  const Arena::Place place = Arena::place_of(pointer);
  if (place.tensor < 0) return nullptr;
  const Arena::Tensor& t = arena_.tensors()[size_t(place.tensor)];
  char* begin = addresses_[size_t(place.tensor)];
  const int64_t row = place.row > 0 ? place.row * size(t.columns) * size_of(t.element) : 0;
  return begin == nullptr ? nullptr : begin + row + place.bytes;
}

void Runner::write(const void* tensor, const void* host, size_t bytes) {
  if (bytes == 0) return;
  if (backend_.stage && bytes <= Backend::kStaged) return backend_.stage(resolve(tensor), host, bytes);
  ++counts_.waits;
  backend_.upload(resolve(tensor), host, bytes);
}

void Runner::load(const void* tensor, const void* host, size_t bytes) {
  if (bytes == 0) return;
  if (!backend_.load) return write(tensor, host, bytes);
  counts_.waits += backend_.load(resolve(tensor), host, bytes);
}

void Runner::loaded() {
  if (backend_.loaded) backend_.loaded();
}

void Runner::read(void* host, const void* tensor, size_t bytes) const {
  if (bytes == 0) return;
  ++counts_.waits;
  backend_.download(host, resolve(tensor), bytes);
}

void Runner::wait() const {
  ++counts_.waits;
  backend_.wait();
}

const LabOp* Runner::op_of(const std::string& name) {
  const auto [at, is_new] = ops_.try_emplace(name, nullptr);
  if (is_new) at->second = find_op(name);
  return at->second;
}

// A list whose sizes are read between calls, or chosen from outside, cannot be recorded: they change.
void Runner::run(const OpList& list, const Plan& plan, Profile& profile) {
  if (backend_.exact || !backend_.record) return call_all(list, plan, profile);
  std::vector<int64_t> choices;
  for (size_t i = 0; i < values_.size(); ++i)
    if (arena_.symbols()[i].kind == Arena::Kind::choice) choices.push_back(values_[i]);
  Recorded& r = recorded_[&list];
  if (r.plan != plan.ids() || r.choices != choices) {
    // The first run allocates the memory that rungs need, which is impossible while they are recorded.
    r = {plan.ids(), choices, {}};
    return backend_.mark ? call_marked(list, plan, profile, 1) : call_all(list, plan, profile);
  }
  if (backend_.mark && ++r.untimed >= timed_every_) {
    call_marked(list, plan, profile, r.untimed);
    r.untimed = 0;
    return;
  }
  if (!r.repeat) {
    Profile aside;
    const Counts before = counts_;
    r.repeat = backend_.record([&] { call_all(list, plan, aside); });
    if (counts_.waits != before.waits) throw std::logic_error("the host waits within a list of ops");
    counts_ = before;
  }
  ++counts_.repeated;
  if (backend_.mark)
    r.repeat();  // the run timed op by op replaces it
  else
    profile.time("recorded lists", r.repeat);
}

// Puts the clock's marks between calls, in order with them, and reads them once, after the list.
void Runner::call_marked(const OpList& list, const Plan& plan, Profile& profile, int64_t runs) {
  Profile of_the_host;
  marks_ = true;
  try {
    call_all(list, plan, of_the_host);
  } catch (...) {
    marks_ = false;
    throw;
  }
  marks_ = false;
  backend_.mark();
  ++counts_.waits;
  const std::vector<double> seconds = backend_.between_marks();
  const std::vector<Made>& made = made_[&list].calls;
  for (size_t i = 0; i < std::min(seconds.size(), list.calls().size()); ++i) {
    const OpCall& call = list.calls()[i];
    if (!call.op.empty() && call.stage.starts_with(call.op))
      for (int64_t run = 0; run < runs; ++run)
        profile.run(call.stage, call.op, made[i].shape, made[i].cost, [] {});
    profile.add(call.stage, seconds[i] * double(runs));
  }
}

// Checks a call and binds its variant; done once for calls that are the same at every run.
void Runner::make(Made& made, const OpCall& call, const Plan& plan) {
  const LabOp* op = op_of(call.op);
  if (op == nullptr || !op->op.valid(made.shape))
    throw std::logic_error(fmt::format("{}: {} is no shape of this operation", call.op,
                                       op ? shape_text(op->op, made.shape) : "?"));
  made.cost = plan.cost_of(call.op, op->op.cost(made.shape));
  made.work = backend_.bind(*plan.variant(call.op), made.shape, made.pointers);
}

void Runner::call_all(const OpList& list, const Plan& plan, Profile& profile) {
  MadeList& made = made_[&list];
  if (VariantIds ids = plan.ids(); made.plan != ids || made.calls.size() != list.calls().size())
    made = {std::move(ids), std::vector<Made>(list.calls().size())};
  std::vector<int64_t> shape;
  std::vector<void*> pointers;
  for (size_t i = 0; i < list.calls().size(); ++i) {
    const OpCall& call = list.calls()[i];
    ++counts_.calls;
    if (marks_) backend_.mark();
    pointers.clear();
    for (const void* p : call.tensors) pointers.push_back(resolve(p));
    if (call.op.empty()) {
      profile.time(call.stage, [&] { backend_.fill(pointers.front(), call.byte, size_t(call.bytes)); });
      continue;
    }
    shape.clear();
    for (const int64_t d : call.shape) shape.push_back(size(d));
    Made& m = made.calls[i];
    if (!m.work || m.shape != shape || m.pointers != pointers) {
      m = {shape, pointers, {}, {}};
      make(m, call, plan);
    }
    if (call.stage.starts_with(call.op))
      profile.run(call.stage, call.op, m.shape, m.cost, m.work);
    else
      profile.time(call.stage, m.work);
  }
}

}  // namespace klab
