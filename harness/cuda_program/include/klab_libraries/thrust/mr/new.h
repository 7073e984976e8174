// Replaces Thrust's header of this name. Vectors get device memory, so that kernels may use it. Thrust's
// algorithms, which run on the host here, may access it as well.
#pragma once

#include <klab_cuda/library_memory.h>
#include <thrust/mr/memory_resource.h>

THRUST_NAMESPACE_BEGIN
namespace mr {

class new_delete_resource_base : public memory_resource<> {
 public:
  void* do_allocate(std::size_t bytes, std::size_t = THRUST_MR_DEFAULT_ALIGNMENT) override {
    return klab_library_malloc(bytes);
  }
  void do_deallocate(void* p, std::size_t, std::size_t = THRUST_MR_DEFAULT_ALIGNMENT) override {
    klab_library_free(p);
  }
};
class new_delete_resource final : public new_delete_resource_base {};

}  // namespace mr
THRUST_NAMESPACE_END
