// Addresses of the shared window (PTX) and the host's pointers for them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "harness/simt/async_api.h"
#include "harness/simt/executor.h"

namespace klab {
namespace {

/// Memory of the host at an address whose lower half is 0, so that the lower halves of its pointers look like addresses of the window.
class LowHalves {
 public:
  explicit LowHalves(size_t bytes) : bytes_(bytes) {
    for (uintptr_t high = 0x6000; high < 0x7000 && at_ == MAP_FAILED; ++high)
      at_ = mmap(reinterpret_cast<void*>(high << 32), bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
  ~LowHalves() { munmap(at_, bytes_); }
  LowHalves(const LowHalves&) = delete;
  LowHalves& operator=(const LowHalves&) = delete;
  char* begin() const { return at_ != MAP_FAILED ? static_cast<char*>(at_) : nullptr; }

 private:
  size_t bytes_;
  void* at_ = MAP_FAILED;
};

TEST(SharedAddress, ComesBackWhereverTheHostPutsStaticVariables) {
  const LowHalves fixed(1 << 20);
  ASSERT_NE(fixed.begin(), nullptr);
  std::vector<char> dynamic(100 << 10);
  simt::Launch launch{};
  launch.shared_bytes = dynamic.size();
  simt::Executor& e = simt::executor();
  e.launch = &launch;
  e.dynamic_shared = dynamic.data();
  e.static_shared = fixed.begin();
  e.static_shared_bytes = 1 << 20;
  simt::running = &e;
  for (size_t at = 0; at < dynamic.size(); at += 1000)
    EXPECT_EQ(simt::shared_pointer(simt::shared_address(dynamic.data() + at)), dynamic.data() + at) << at;
  for (size_t at = 0; at < e.static_shared_bytes; at += 10000)
    EXPECT_EQ(simt::shared_pointer(simt::shared_address(fixed.begin() + at)), fixed.begin() + at) << at;
  simt::running = nullptr;
}

}  // namespace
}  // namespace klab
