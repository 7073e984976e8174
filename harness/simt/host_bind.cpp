#include "harness/simt/host_bind.h"

#include <cstring>
#include <memory>
#include <stdexcept>

#include "harness/core/lab.h"
#include "harness/core/registry.h"
#include "harness/simt/memory.h"
#include "harness/simt/modules.h"
#include "harness/simt/runtime_api.h"
#include "harness/simt/session.h"

namespace klab::simt {
namespace {

class HostRun {
 public:
  HostRun(const std::string& id, ShapeView shape, std::span<void* const> pointers)
      : id_(id), shape_(shape.begin(), shape.end()), host_(pointers.begin(), pointers.end()) {
    const LabOp* op = find_op(find_variant(id)->op);
    if (op == nullptr) throw std::invalid_argument(id + ": no lab teaches its op");
    specs_ = op->op.tensors(shape_);
    on_host_ = op->op.on_host;
    if (on_host_) return;
    // Keep the caller's offset within a cache line: a variant chooses the width of its loads by its pointers.
    for (size_t k = 0; k < specs_.size(); ++k)
      device_.push_back(host_[k] == nullptr
                            // optional and not given; a variant that reads it anyway causes a finding
                            ? nullptr
                            : device_alloc_off(size_t(bytes(specs_[k])), specs_[k].name.c_str(),
                                               reinterpret_cast<uintptr_t>(host_[k]) % 64));
  }
  ~HostRun() {
    for (void* p : device_)
      if (p != nullptr) device_free(p);
  }
  HostRun(const HostRun&) = delete;
  HostRun& operator=(const HostRun&) = delete;

  void run() {
    const bool traced = Session::current().options().traced && load_traced_variants();
    if (on_host_) return call(traced);
    for (size_t k = 0; k < specs_.size(); ++k) {
      const auto n = size_t(bytes(specs_[k]));
      if (n == 0 || device_[k] == nullptr) continue;
      // Outputs are copied too, since the caller has filled them with a pattern. For the kernel they are
      // undefined.
      std::memcpy(device_[k], host_[k], n);
      mark_defined(device_[k], n, specs_[k].role != Role::output);
    }
    call(traced);
    for (size_t k = 0; k < specs_.size(); ++k) {
      if (device_[k] == nullptr) continue;
      const auto n = size_t(bytes(specs_[k]));
      if (n > 0) std::memcpy(host_[k], device_[k], n);
      if (const std::string broken = guards_broken(*allocation_at(device_[k])); !broken.empty())
        Session::current().add({.kind = Kind::out_of_bounds, .text = broken});
    }
  }

 private:
  static int64_t bytes(const TensorSpec& spec) { return volume(spec.dims) * size_of(spec.element); }

  void call(bool traced) {
    auto& ready = traced ? traced_ : plain_;
    if (!ready) {
      const Variant& v = *find_variant(id_);
      const auto& form = traced ? v.host_traced : v.host;
      if (!form) throw std::logic_error(id_ + " was not compiled for the host");
      ready = form(shape_, on_host_ ? host_ : device_);
    }
    ready();
  }

  std::string id_;
  std::vector<int64_t> shape_;
  std::vector<TensorSpec> specs_;
  std::vector<void*> host_, device_;
  bool on_host_ = false;  // the variant takes host pointers and copies by itself
  std::function<void()> plain_, traced_;
};

const bool place_added = [] {
  add_cuda_place({.chosen = nullptr, .bind = host_bind});
  return true;
}();

}  // namespace

std::function<void()> host_bind(const std::string& variant, ShapeView shape,
                                std::span<void* const> pointers) {
  return [run = std::make_shared<HostRun>(variant, shape, pointers)] { run->run(); };
}

}  // namespace klab::simt
