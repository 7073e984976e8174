#include "harness/program/carried_backend.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "harness/core/lab.h"

namespace klab {
namespace {

/// Memory of the device.
class Room {
 public:
  Room() = default;
  Room(const Backend* device, size_t bytes, const std::string& name)
      : device_(device), at_(static_cast<char*>(device->alloc(bytes, name))), bytes_(bytes) {}
  ~Room() {
    if (at_ != nullptr) device_->free(at_, bytes_);
  }
  Room(Room&& other) noexcept
      : device_(other.device_),
        at_(std::exchange(other.at_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  Room& operator=(Room&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  char* at() const { return at_; }
  size_t bytes() const { return bytes_; }

 private:
  const Backend* device_ = nullptr;
  char* at_ = nullptr;
  size_t bytes_ = 0;
};

struct Tensor {
  std::string name;
  Role role = Role::input;
  char* host = nullptr;
  size_t bytes = 0;
};

class Carrier {
 public:
  // A GPU keeps the memory of one call for the next. The host executor gives each tensor exactly its size during its call, so
  // that accesses beyond it are found; it has no limit, and so none available.
  explicit Carrier(Backend device) : device_(std::move(device)), keeps_(device_.available != nullptr) {}

  void call(const Variant& v, ShapeView shape, const std::vector<Tensor>& tensors) {
    std::vector<void*> there(tensors.size());
    std::vector<Room> own_rooms;
    for (size_t i = 0; i < tensors.size(); ++i) there[i] = carry(tensors, there, i, own_rooms);
    device_.bind(v, shape, there)();
    for (size_t i = 0; i < tensors.size(); ++i)
      if (const Tensor& t = tensors[i]; t.role != Role::input && t.bytes > 0 && t.host != nullptr)
        device_.download(t.host, there[i], t.bytes);
    device_.wait();
  }

 private:
  /// Returns where the tensor is on the device.
  void* carry(const std::vector<Tensor>& tensors, const std::vector<void*>& there, size_t i,
              std::vector<Room>& rooms) {
    const Tensor& t = tensors[i];
    if (t.host == nullptr || t.bytes == 0) return nullptr;
    // A call in place has one tensor under two names.
    for (size_t k = 0; k < i; ++k)
      if (tensors[k].host == t.host && tensors[k].bytes >= t.bytes && there[k] != nullptr) return there[k];
    char* at = nullptr;
    if (keeps_) {
      if (kept_.size() <= i) kept_.resize(i + 1);
      if (kept_[i].bytes() < t.bytes) {
        kept_[i] = Room();  // first, so that old and new memory never coexist
        kept_[i] = Room(&device_, t.bytes + t.bytes / 4, t.name);
      }
      at = kept_[i].at();
    } else {
      at = rooms.emplace_back(&device_, t.bytes, t.name).at();
    }
    const bool read = std::ranges::any_of(
        tensors, [&](const Tensor& other) { return other.host == t.host && other.role != Role::output; });
    if (read) device_.upload(at, t.host, t.bytes);
    return at;
  }

  Backend device_;
  bool keeps_;
  std::vector<Room> kept_;  // by the tensor's place in its call
};

}  // namespace

Backend carried_backend(const Backend& device) {
  if (device.in_host_memory) return device;
  const auto carrier = std::make_shared<Carrier>(device);
  Backend b = cpu_backend();
  b.name = device.name;
  b.available = device.available;
  b.bind = [carrier](const Variant& v, ShapeView shape, std::span<void* const> pointers) {
    const std::vector<TensorSpec> specs = find_op(v.op)->op.tensors(shape);
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < specs.size(); ++i)
      tensors.push_back({.name = specs[i].name,
                         .role = specs[i].role,
                         .host = static_cast<char*>(pointers[i]),
                         .bytes = size_t(volume(specs[i].dims) * size_of(specs[i].element))});
    return [carrier, &v, dims = std::vector<int64_t>(shape.begin(), shape.end()), tensors] {
      carrier->call(v, dims, tensors);
    };
  };
  return b;
}

}  // namespace klab
