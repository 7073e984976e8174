// A program as data: calls of ops over named tensors, in order. Nothing in it says where the tensors lie, or
// where it runs.
//
// Dimensions and pointers may be symbols, known when a call is made:
//
//   Arena arena;
//   const int64_t rays = arena.extent("rays", 4096);                      // set from outside, at most 4096
//   int32_t* begin = arena.tensor<int32_t>("begin", 1, 4097);
//   const int64_t samples = arena.count("samples", begin, rays, 1 << 15); // what begin[rays] says, at most 2^15
//   float* raw = arena.tensor<float>("raw", 16, samples);                 // 16 rows of as many columns as there are samples
//   list.add<MlpFwd>("mlp_fwd", {.n = samples, ...}, {.x = ..., .y = arena.row(raw, 1)});
//
// The pointers are names, typed so that the compiler checks them against the contract; the runner replaces
// them by addresses. A contract's shape holds a size or a symbol's number.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "harness/core/call.h"

namespace klab {

/// Tensors and symbols for lists of ops.
class Arena {
 public:
  struct Tensor {
    std::string name;
    Element element;
    int64_t rows, columns;  // columns may be a symbol: rows then follow each other at its present value
  };
  /// How a symbol gets its value.
  enum class Kind {
    extent,   // from outside; a backend that cannot wait for numbers takes the largest
    choice,   // from outside, on every backend
    count,    // a number that an op has written to a tensor; likewise the largest
    part,     // of a count: the rest from `index` on, limited to `most`
    padding,  // 1 on backends that take the largest, else 0
    product,  // another symbol times a factor
  };
  struct Symbol {
    std::string name;
    Kind kind;
    int64_t most;
    int tensor = -1;             // of a count: its tensor,
    int64_t index = 0;           // and which element, itself perhaps a symbol; of a part: where it begins
    int64_t of = 0, factor = 1;  // of a product; of a part: its count
  };

  /// Adds a tensor of rows x columns elements; the name is for readers of the list.
  template <class T>
  T* tensor(const std::string& name, int64_t rows, int64_t columns) {
    tensors_.push_back({name, detail::element_of<T>(), rows, columns});
    return reinterpret_cast<T*>(tensors_.size() << kTensorBit);
  }
  /// Returns row r of a tensor, r times the present number of columns after its begin.
  template <class T>
  T* row(T* tensor, int64_t r) const {
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(tensor) + (uint64_t(r) << kRowBit));
  }

  int64_t extent(const std::string& name, int64_t most) { return symbol({name, Kind::extent, most}); }
  int64_t choice(const std::string& name, int64_t most) { return symbol({name, Kind::choice, most}); }
  int64_t padding() { return symbol({"padding", Kind::padding, 1}); }
  /// Element `index` of a tensor that an op writes.
  int64_t count(const std::string& name, const int32_t* tensor, int64_t index, int64_t most) {
    return symbol({name, Kind::count, most, place_of(tensor).tensor, index});
  }

  /// Slice [begin, begin + most) of a dimension whose length is known only at run time.
  int64_t part(const std::string& name, int64_t of, int64_t begin, int64_t most) {
    Symbol s{name, Kind::part, most};
    s.index = begin;
    s.of = of;
    return symbol(std::move(s));
  }

  int64_t product(int64_t factor, int64_t of) {
    Symbol s{std::to_string(factor) + " " + symbols_[symbol_of(of)].name, Kind::product, factor * most(of)};
    s.of = of;
    s.factor = factor;
    return symbol(std::move(s));
  }

  static bool is_symbol(int64_t dim) { return dim < std::numeric_limits<int64_t>::min() + kMostSymbols; }
  static size_t symbol_of(int64_t dim) { return size_t(dim - std::numeric_limits<int64_t>::min()); }

  /// Returns the name of a tensor from its number, as tensor() does.
  static const void* name_of(size_t tensor) {
    return reinterpret_cast<const void*>((tensor + 1) << kTensorBit);
  }

  /// The target of a pointer in a list.
  struct Place {
    int tensor;
    int64_t row, bytes;  // byte offset within the row
  };
  static Place place_of(const void* pointer) {
    const auto p = reinterpret_cast<uintptr_t>(pointer);
    return {int(p >> kTensorBit) - 1, int64_t(p >> kRowBit & kRowMask), int64_t(p & kByteMask)};
  }

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// Returns the largest value that a dimension may have.
  int64_t most(int64_t dim) const { return is_symbol(dim) ? symbols_[symbol_of(dim)].most : dim; }
  int64_t bytes(const Tensor& t) const { return t.rows * most(t.columns) * size_of(t.element); }
  int64_t bytes() const;

 private:
  static constexpr int kTensorBit = 52, kRowBit = 40;  // tensor + 1 | row | byte
  static constexpr uint64_t kRowMask = (1 << 12) - 1, kByteMask = (uint64_t{1} << kRowBit) - 1;
  static constexpr int64_t kMostSymbols = 1000;

  int64_t symbol(Symbol s) {
    symbols_.push_back(std::move(s));
    return std::numeric_limits<int64_t>::min() + int64_t(symbols_.size()) - 1;
  }

  std::vector<Tensor> tensors_;
  std::vector<Symbol> symbols_;
};

/// One line of a list: an op to call, or a tensor to fill with one byte.
struct OpCall {
  std::string stage;  // of the profile
  std::string op;     // empty: fill
  std::vector<int64_t> shape;
  std::vector<const void*> tensors;  // in the order of the contract
  uint8_t byte = 0;                  // fill: this byte, into
  int64_t bytes = 0;                 // length of the fill of tensors[0]
};

class OpList {
 public:
  /// Adds a call of the contract's op. `stage` begins with the op's name if it is that op's stage.
  template <class Contract>
  void add(std::string stage, typename Contract::Shape shape, typename Contract::template Args<float> args) {
    OpCall call{
        .stage = std::move(stage), .op = std::string(Contract::name), .shape = dims_of<Contract>(shape)};
    // tensors() may compute with sizes, so replace symbols by 1.
    std::vector<int64_t> sizes = call.shape;
    for (int64_t& d : sizes) d = Arena::is_symbol(d) ? 1 : d;
    args.shape = shape_of<Contract>(sizes);
    Contract::tensors(args, [&](std::string_view, auto& pointer, Role, Draw, const Dims&) {
      call.tensors.push_back(pointer);
    });
    calls_.push_back(std::move(call));
  }
  void fill(std::string stage, const void* tensor, uint8_t byte, int64_t bytes) {
    calls_.push_back({.stage = std::move(stage), .tensors = {tensor}, .byte = byte, .bytes = bytes});
  }
  const std::vector<OpCall>& calls() const { return calls_; }

 private:
  std::vector<OpCall> calls_;
};

/// Formats the list as text, a line for each call: op, shape, and the names of its tensors.
std::string text_of(const OpList& list, const Arena& arena);

}  // namespace klab
