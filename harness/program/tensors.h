// The tensors of a program of ops, and their sizes. A step declares both once; then it is written with them as if they were
// arrays and numbers:
//
//   Memory memory(cpu_backend());
//   const Count rays = memory.extent("rays", 4096, 1000);                        // set from outside, at most 4096
//   const Handle<int32_t> begin = memory.tensor<int32_t>("begin", 1, 4097);
//   const Count samples = memory.count("samples", begin, rays, 1 << 15, 3000);   // what an op writes to begin[rays]
//   const Handle<float> raw = memory.tensor<float>("raw", 16, samples);
//   ops.call<MlpFwd>({.n = samples, ...}, {.x = ..., .y = raw.row(1)});
//
// A handle becomes an address, and a count a number, at the moment of the call. Before memory is allocated nothing can run:
// counts are then what plans are timed at, and addresses only tell tensors apart (MeasureOps).
#pragma once

#include <deque>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/core/op.h"
#include "harness/program/backend.h"

namespace klab {

class Memory;

/// A size of a program: a number, or one of those that a memory declares.
class Count {
 public:
  Count(int64_t fixed = 0) : most_(fixed) {}  // NOLINT: a number is a size

  /// Returns the size that a call gets: the exact one where the host may wait for numbers that ops write, else the largest.
  int64_t now() const;
  /// Returns the size that plans are timed at.
  int64_t usual() const;
  /// Returns the size that memory is counted at.
  int64_t most() const { return factor_ * most_; }
  operator int64_t() const { return now(); }  // NOLINT: its purpose
  bool is_fixed() const { return memory_ == nullptr; }

  /// Returns the slice [begin, begin + most) of this size.
  Count part(int64_t begin, int64_t most) const;
  /// Returns a multiple of this size.
  Count times(int64_t factor) const;

 private:
  friend class Memory;
  const Memory* memory_ = nullptr;  // null: most_ is the size
  size_t size_ = 0;                 // of the memory
  int64_t begin_ = 0, most_ = 0, factor_ = 1;
  bool is_part_ = false;
};

/// Where a handle points: a tensor, a row of it, and bytes behind the row's begin.
struct TensorPlace {
  const Memory* memory = nullptr;
  int tensor = -1;
  int64_t row = 0, bytes = 0;

  bool exists() const { return tensor >= 0; }
  void* address() const;
};

/// A tensor, or a place in one. Converts to its address in the memory, which is null for a handle of no tensor.
template <class T>
class Handle : public TensorPlace {
 public:
  Handle() = default;
  explicit Handle(const TensorPlace& place) : TensorPlace(place) {}
  template <class U>
  requires(std::is_same_v<const U, T>) Handle(const Handle<U>& other)
      : TensorPlace(other) {}  // NOLINT: as a pointer does

  operator T*() const { return static_cast<T*>(address()); }  // NOLINT: its purpose
  /// Returns row r: rows follow each other at the present number of columns.
  Handle row(int64_t r) const { return moved(r, 0); }
  /// Returns the place that many elements further on.
  Handle from(int64_t elements) const { return moved(0, elements * int64_t(sizeof(T))); }
  /// Returns the same place as another type.
  template <class U>
  Handle<U> as(int64_t bytes_further = 0) const {
    return Handle<U>(moved(0, bytes_further));
  }

 private:
  Handle moved(int64_t rows, int64_t more) const {
    Handle there = *this;
    there.TensorPlace::row += rows;
    there.bytes += more;
    return there;
  }
};

/// What the host did for programs of a memory.
struct HostCounts {
  int64_t waits = 0;                // for the backend, also by reading from it
  int64_t calls = 0, repeated = 0;  // ops and fills called; programs repeated as they were recorded
};

class Memory {
 public:
  struct Tensor {
    std::string name;
    Element element;
    int64_t rows;
    Count columns;
    char* address = nullptr;  // in the backend's memory
    char* mirror = nullptr;   // of the host

    int64_t bytes() const { return rows * columns.most() * size_of(element); }
  };

  /// Declares for measuring only: it can't be allocated.
  Memory() = default;
  explicit Memory(Backend backend) : backend_(std::move(backend)) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Declares a tensor; the name is for readers.
  template <class T>
  Handle<T> tensor(const std::string& name, int64_t rows, const Count& columns) {
    tensors_.push_back({name, detail::element_of<T>(), rows, columns});
    return Handle<T>(TensorPlace{this, int(tensors_.size()) - 1, 0, 0});
  }
  /// Declares a size that is set from outside.
  Count extent(const std::string& name, int64_t most, int64_t usual);
  /// The same for a size that every backend takes as it is set. A recording is kept for its value.
  Count choice(const std::string& name);
  /// Declares element `index` of a tensor, which an op writes.
  Count count(const std::string& name, const Handle<int32_t>& tensor, const Count& index, int64_t most,
              int64_t usual);
  const std::deque<Tensor>& tensors() const { return tensors_; }
  /// Returns the bytes of all tensors, the mirrors included.
  int64_t bytes() const;

  /// Ties a tensor to an array of the host, before allocate(). A backend in the host's memory uses this
  /// array; otherwise push() and pull() copy.
  void mirror(const TensorPlace& tensor, void* host);
  /// Allocates the memory of all tensors, or of those that are `used` and those with a mirror.
  void allocate();
  void allocate(const std::vector<bool>& used);
  void pull(const TensorPlace& tensor) const;
  /// Copy all tensors with a mirror.
  void push();
  void pull() const;

  /// Sets the value of an extent or a choice.
  void set(const Count& size, int64_t value) { sizes_[size.size_].value = value; }
  /// Returns the values of all choices.
  std::vector<int64_t> choices() const;

  /// Copy to and from a place.
  void write(const TensorPlace& to, const void* host, size_t bytes);
  void read(void* host, const TensorPlace& from, size_t bytes) const;
  /// Like write(), but concurrent with the calls that were made: these still see the old content. Later calls
  /// see the new content, complete, after the next loaded(); in between it is undefined. Not allowed within a
  /// program.
  void load(const TensorPlace& to, const void* host, size_t bytes);
  void loaded();
  /// Waits for all that was called.
  void wait() const;

  const Backend& backend() const { return backend_; }
  HostCounts& counts() const { return counts_; }

 private:
  friend class Count;
  friend struct TensorPlace;
  struct Size {
    std::string name;
    enum class Kind { extent, choice, count } kind;
    int64_t most, usual;
    int64_t value = 0;        // of an extent or a choice
    TensorPlace tensor = {};  // of a count
    Count index = 0;
  };
  Count declared(Size size);
  int64_t now(const Count& count) const;
  void* address(const TensorPlace& place) const;

  Backend backend_;
  bool allocated_ = false;
  std::deque<Tensor> tensors_;  // whose places stay: before memory is allocated they are the addresses
  std::vector<Size> sizes_;
  mutable HostCounts counts_;
};

}  // namespace klab
