// A vendor's library, loaded when a variant that compares with it first asks: where it is missing only such variants are.
#pragma once

#include <dlfcn.h>

#include <string>

namespace klab {

class VendorLibrary {
 public:
  /// Takes the name without suffix, "libcublas", and the major version of the toolkit that compiled this;
  /// falls back to the unversioned file of development packages.
  VendorLibrary(const std::string& name, int version) : versioned_(name + ".so." + std::to_string(version)) {
    for (const std::string& file : {versioned_, name + ".so"})
      if (object_ == nullptr) object_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (object_ == nullptr)
      why_not_ =
          versioned_ + " was not found: install CUDA's libraries, or name their folder in LD_LIBRARY_PATH";
  }

  /// Looks up the function of that name; null if it is missing, which why_not() reports.
  template <class Function>
  void find(const char* name, Function& function) {
    if (object_ == nullptr) return;
    function = reinterpret_cast<Function>(dlsym(object_, name));
    if (function == nullptr) why_not_ = versioned_ + " has no " + name;
  }

  /// "" or the reason why its functions cannot be called.
  const std::string& why_not() const { return why_not_; }

 private:
  std::string versioned_, why_not_;
  void* object_ = nullptr;
};

}  // namespace klab
