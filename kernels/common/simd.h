// The frame of a rung with vectors, which Highway compiles once for each instruction set.
//
//   #include "harness/core/registrar.h"
//   #include "kernels/common/simd.h"
//   #include "reference/<op>/<op>.h"
//
//   #include "kernels/common/lanes-inl.h"   // what is read once for each set comes after, in a block of its own
//
//   KLAB_SIMD_BEGIN();
//   void part(...) { ... }                  // hn:: is Highway, for the set that this pass compiles for
//   KLAB_SIMD_ONCE(part);                   // names the functions that the rest of the file calls
//
//   #if HWY_ONCE
//   ...                                     // once: HWY_DYNAMIC_DISPATCH(part)(...) calls the best that the processor has
//   KLAB_SIMD_CLOSE();                      // of the namespaces klab and {}, in which all this stands
//   #endif
//
// KLAB_SIMD_END(part) closes both namespaces at once; a file that ends its vectors with it opens them again below.
//
// Each pass includes the file that is compiled, so this header has no guard, and the file need not name its own path.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE __BASE_FILE__
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

#define KLAB_SIMD_BEGIN()   \
  HWY_BEFORE_NAMESPACE();   \
  namespace klab {          \
  namespace {               \
  namespace HWY_NAMESPACE { \
  namespace hn = hwy::HWY_NAMESPACE

#define KLAB_SIMD_CLOSE() \
  }                       \
  }                       \
  static_assert(true)
#define KLAB_SIMD_END(...)       \
  }                              \
  HWY_AFTER_NAMESPACE();         \
  KLAB_SIMD_EXPORT(__VA_ARGS__); \
  KLAB_SIMD_CLOSE()

// HWY_EXPORT for up to four functions, in the last pass, which stays in its namespaces.
#undef KLAB_SIMD_EXPORT
#undef KLAB_SIMD_ONCE
#if HWY_ONCE
#define KLAB_SIMD_EXPORT(...) KLAB_SIMD_COUNTED(__VA_ARGS__, 4, 3, 2, 1)(__VA_ARGS__)
#define KLAB_SIMD_ONCE(...) \
  }                         \
  HWY_AFTER_NAMESPACE();    \
  KLAB_SIMD_EXPORT(__VA_ARGS__)
#else
#define KLAB_SIMD_EXPORT(...) static_assert(true)
#define KLAB_SIMD_ONCE(...) KLAB_SIMD_END(__VA_ARGS__)
#endif
#define KLAB_SIMD_COUNTED(f1, f2, f3, f4, count, ...) KLAB_SIMD_EXPORT_##count
#define KLAB_SIMD_EXPORT_1(f) HWY_EXPORT(f)
#define KLAB_SIMD_EXPORT_2(f, ...) \
  KLAB_SIMD_EXPORT_1(f);           \
  KLAB_SIMD_EXPORT_1(__VA_ARGS__)
#define KLAB_SIMD_EXPORT_3(f, ...) \
  KLAB_SIMD_EXPORT_1(f);           \
  KLAB_SIMD_EXPORT_2(__VA_ARGS__)
#define KLAB_SIMD_EXPORT_4(f, ...) \
  KLAB_SIMD_EXPORT_1(f);           \
  KLAB_SIMD_EXPORT_3(__VA_ARGS__)
