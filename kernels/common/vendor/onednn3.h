// oneDNN 3, loaded next to the oneDNN that klab is linked with. Both have functions of the same names, so its own are looked up first
// among its own (RTLD_DEEPBIND) and never among the program's.
//
//   onednn3::why_not(onednn3::Type::bf16)          "" or the reason why not
//   onednn3::multiply({m, n, k, Type::bf16, a, b, nullptr, c});
//   onednn3::product<MatmulBf16>                   the same as a rung of a contract of products
//
// KLAB_ONEDNN3 in the environment names another library file than the one that CMake found.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace klab::onednn3 {

// Names of its C interface (oneapi/dnnl/dnnl_common_types.h and dnnl_types.h of version 3). Its handles are opaque pointers.
enum class Type : int { bf16 = 2, f32 = 3, s8 = 5 };
constexpr int kCpu = 1, kInOrder = 1;
constexpr int kSource = 1, kWeights = 33, kTarget = 17, kScales = 4096;
struct Argument {
  int index;
  void* memory;
};
struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

/// c[m,n] = a[m,k] · b[k,n], row-major, times a scale for each column where there are scales.
struct Product {
  int64_t m, n, k;
  Type type;  // of a and b
  const void *a, *b;
  const float* scale;
  float* c;
};

/// The library's functions.
class Library {
 public:
  const Version* (*version)() = nullptr;
  int (*engine_create)(void**, int, size_t) = nullptr;
  int (*stream_create)(void**, void*, unsigned) = nullptr;
  int (*stream_wait)(void*) = nullptr;
  int (*desc_create)(void**, int, const int64_t*, int, const int64_t*) = nullptr;
  int (*desc_destroy)(void*) = nullptr;
  int (*memory_create)(void**, const void*, void*, void*) = nullptr;
  int (*memory_destroy)(void*) = nullptr;
  int (*memory_set)(void*, void*) = nullptr;
  int (*attributes_create)(void**) = nullptr;
  int (*attributes_destroy)(void*) = nullptr;
  int (*attributes_scale)(void*, int, int) = nullptr;
  int (*matmul_create)(void**, void*, const void*, const void*, const void*, const void*,
                       const void*) = nullptr;
  int (*how_destroy)(void*) = nullptr;
  int (*primitive_create)(void**, const void*) = nullptr;
  int (*primitive_destroy)(void*) = nullptr;
  int (*execute)(const void*, void*, int, const Argument*) = nullptr;

  /// Loads it at the first call of the process.
  static const Library& get() {
    static const Library one;
    return one;
  }

  void* engine() const { return engine_; }
  /// Returns "oneDNN 3.2.0", or "" where it was not loaded.
  const std::string& name() const { return name_; }
  /// Returns "" or the reason why its functions cannot be called.
  const std::string& why_not() const { return why_not_; }

 private:
  Library() {
    const char* file = std::getenv("KLAB_ONEDNN3");
#ifdef KLAB_ONEDNN3_LIBRARY
    if (file == nullptr) file = KLAB_ONEDNN3_LIBRARY;
#endif
    if (file == nullptr || *file == '\0') {
      why_not_ = "oneDNN 3 was not found when klab was built (cmake -DKLAB_ONEDNN3=<its prefix>)";
      return;
    }
#if defined(__SANITIZE_ADDRESS__)
    why_not_ = "the address sanitizer cannot keep two versions of oneDNN apart";
#else
    object_ = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (object_ == nullptr) {
      const char* error = dlerror();
      why_not_ = std::string("oneDNN 3 cannot be loaded: ") + (error != nullptr ? error : file);
      return;
    }
    look_up(file);
#endif
  }

  void look_up(const std::string& file) {
    find("dnnl_version", version);
    find("dnnl_engine_create", engine_create);
    find("dnnl_stream_create", stream_create);
    find("dnnl_stream_wait", stream_wait);
    find("dnnl_memory_create", memory_create);
    find("dnnl_memory_destroy", memory_destroy);
    find("dnnl_memory_set_data_handle", memory_set);
    find("dnnl_primitive_attr_create", attributes_create);
    find("dnnl_primitive_attr_destroy", attributes_destroy);
    find("dnnl_matmul_primitive_desc_create", matmul_create);
    find("dnnl_primitive_desc_destroy", how_destroy);
    find("dnnl_primitive_create", primitive_create);
    find("dnnl_primitive_destroy", primitive_destroy);
    find("dnnl_primitive_execute", execute);
    const Version* const v = version != nullptr ? version() : nullptr;
    if (v != nullptr)
      name_ = "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
              std::to_string(v->patch);
    if (v == nullptr || v->major != 3) {
      why_not_ = file + " is " + (name_.empty() ? "no oneDNN" : name_) + ": version 3 is needed";
      return;
    }
    find("dnnl_memory_desc_create_with_strides", desc_create);  // these three are new in version 3
    find("dnnl_memory_desc_destroy", desc_destroy);
    find("dnnl_primitive_attr_set_scales_mask", attributes_scale);
    if (!missing_.empty())
      why_not_ = file + " has no " + missing_;
    else if (engine_create(&engine_, kCpu, 0) !=
             0)  // builds for SYCL need an OpenCL runtime for the processor
      why_not_ = name_ + " has no engine for this processor: take a build with OpenMP";
  }

  template <class Function>
  void find(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(object_, symbol));
    if (function == nullptr) missing_ = symbol;
  }

  void *object_ = nullptr, *engine_ = nullptr;
  std::string name_, why_not_, missing_;
};

/// One thread's primitive for products of one shape.
class Prepared {
 public:
  Prepared() = default;
  ~Prepared() { clear(); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  /// Returns whether the library has a product of that type and shape for this processor.
  bool prepare(const Product& p) {
    if (primitive_ != nullptr && p.m == m_ && p.n == n_ && p.k == k_ && p.type == type_) return true;
    clear();
    const Library& l = Library::get();
    void *how = nullptr, *attributes = nullptr;
    bool made = l.attributes_create(&attributes) == 0 &&
                (p.scale == nullptr || l.attributes_scale(attributes, kWeights, 1 << 1) == 0);
    made = made && describe(0, {p.m, p.k}, p.type) && describe(1, {p.k, p.n}, p.type) &&
           describe(2, {p.m, p.n}, Type::f32) && describe(3, {p.n}, Type::f32);
    made =
        made && l.matmul_create(&how, l.engine(), descs_[0], descs_[1], nullptr, descs_[2], attributes) == 0;
    made = made && l.primitive_create(&primitive_, how) == 0;
    if (stream_ == nullptr) made = made && l.stream_create(&stream_, l.engine(), kInOrder) == 0;
    for (int i = 0; made && i < 4; ++i)
      made = l.memory_create(&memories_[i], descs_[i], l.engine(), nullptr) == 0;
    if (how != nullptr) l.how_destroy(how);
    if (attributes != nullptr) l.attributes_destroy(attributes);
    if (!made) clear();
    m_ = p.m, n_ = p.n, k_ = p.k, type_ = p.type;
    return made;
  }

  void run(const Product& p) {
    const Library& l = Library::get();
    const void* const data[] = {p.a, p.b, p.c, p.scale};
    for (int i = 0; i < 4; ++i) l.memory_set(memories_[i], const_cast<void*>(data[i]));
    const Argument list[] = {{kSource, memories_[0]},
                             {kWeights, memories_[1]},
                             {kTarget, memories_[2]},
                             {kScales | kWeights, memories_[3]}};
    if (l.execute(primitive_, stream_, p.scale == nullptr ? 3 : 4, list) != 0 || l.stream_wait(stream_) != 0)
      throw std::runtime_error(l.name() + ": a product failed");
  }

 private:
  struct Dims {
    int64_t rows, columns = 0;
  };

  /// Describes a row-major matrix, or a vector.
  bool describe(int which, const Dims& d, Type type) {
    const bool matrix = d.columns > 0;
    const int64_t dims[12] = {d.rows, d.columns}, strides[12] = {matrix ? d.columns : 1, 1};
    return Library::get().desc_create(&descs_[which], matrix ? 2 : 1, dims, int(type), strides) == 0;
  }

  void clear() {
    const Library& l = Library::get();
    for (void*& memory : memories_)
      if (memory != nullptr) l.memory_destroy(memory), memory = nullptr;
    for (void*& desc : descs_)
      if (desc != nullptr) l.desc_destroy(desc), desc = nullptr;
    if (primitive_ != nullptr) l.primitive_destroy(primitive_), primitive_ = nullptr;
  }

  int64_t m_ = 0, n_ = 0, k_ = 0;
  Type type_ = Type::f32;
  void *descs_[4] = {}, *memories_[4] = {};  // of a, b, c and the scales
  void *primitive_ = nullptr, *stream_ = nullptr;
};

inline Prepared& prepared() {
  static thread_local Prepared one;
  return one;
}

/// Returns "" or why products of that type cannot be made here.
inline std::string why_not(Type type, bool scaled = false) {
#if !defined(__x86_64__)
  return "oneDNN's own kernels are for x86-64";
#endif
  const Library& l = Library::get();
  if (!l.why_not().empty()) return l.why_not();
  static const float one = 1;
  const bool can = prepared().prepare({16, 16, 16, type, nullptr, nullptr, scaled ? &one : nullptr, nullptr});
  return can ? "" : l.name() + " has no such product for this processor";
}

/// Computes a product with m, n and k above 0.
inline void multiply(const Product& p) {
  if (!prepared().prepare(p)) throw std::runtime_error(Library::get().name() + ": a product was refused");
  prepared().run(p);
}

/// Computes the product of a contract's arguments, whose factors are floats, bfloat16s or bytes, of any size.
template <class Contract>
void product(const typename Contract::template Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(x.c, m * n, 0.0F);
    return;
  }
  constexpr Type type = sizeof(*x.a) == 4 ? Type::f32 : sizeof(*x.a) == 2 ? Type::bf16 : Type::s8;
  const float* scale = nullptr;
  if constexpr (requires { x.scale; }) scale = x.scale;
  multiply({m, n, k, type, x.a, x.b, scale, x.c});
}

}  // namespace klab::onednn3
