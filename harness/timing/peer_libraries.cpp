#include "harness/timing/peer_libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <utility>

#include "harness/core/tile_unit.h"

namespace klab {
namespace {

std::optional<std::map<std::string, PeerLibrary>>& given() {
  static std::optional<std::map<std::string, PeerLibrary>> libraries;
  return libraries;
}

const char* name_of(Instructions kind) {
  constexpr std::array kNames = {"unknown", "SSE", "AVX", "AVX2", "AVX-512", "AMX"};
  return kNames[size_t(kind)];
}

/// Returns a function of a loaded library, or of the program if `object` is null; null if it has none of that name.
template <class Function>
Function* function_of(void* object, const char* name) {
  return reinterpret_cast<Function*>(dlsym(object, name));
}

/// Returns the loaded object of oneDNN 3, which is not among those that the program is linked with; null where it is not loaded.
void* onednn3_object() {
  std::string found;
  const auto look = [](dl_phdr_info* info, size_t, void* data) {
    const std::string file = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    const char* asked = std::getenv("KLAB_ONEDNN3");
    if (file.find("libdnnl.so.3") == std::string::npos && (asked == nullptr || file != asked)) return 0;
    *static_cast<std::string*>(data) = file;
    return 1;
  };
  dl_iterate_phdr(look, &found);
  return found.empty() ? nullptr : dlopen(found.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

PeerLibrary onednn(void* object) {
  struct Version {
    int major, minor, patch;
  };
  const auto version = function_of<const Version*()>(object, "dnnl_version");
  if (version == nullptr) return {};
  const Version& v = *version();
  PeerLibrary library{.name = fmt::format("oneDNN {}.{}.{}", v.major, v.minor, v.patch)};
  const auto isa = function_of<unsigned()>(object, "dnnl_get_effective_cpu_isa");
  if (isa == nullptr) return library;
  const auto [name, kind] = isa_of_onednn(isa());
  library.kernels = name;
  return judged(library, kind, instructions_of_processor(), Instructions::amx);
}

PeerLibrary openblas() {
  const auto config = function_of<char*()>(RTLD_DEFAULT, "openblas_get_config"),
             core = function_of<char*()>(RTLD_DEFAULT, "openblas_get_corename");
  if (config == nullptr || core == nullptr) return {};
  std::istringstream words(config());  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."
  std::string name, version;
  words >> name >> version;
  // Its products are of floats, which tiles do not multiply.
  return judged({.name = name + " " + version, .kernels = core(), .held_back = ""},
                instructions_of_core(core()), instructions_of_processor(), Instructions::avx512);
}

}  // namespace

Instructions instructions_of_processor() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (tile_unit().state == TileUnit::State::usable) return Instructions::amx;
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return Instructions::avx512;
  if (__builtin_cpu_supports("avx2")) return Instructions::avx2;
  return __builtin_cpu_supports("avx") ? Instructions::avx : Instructions::sse;
#else
  return Instructions::unknown;
#endif
}

Instructions instructions_of_core(const std::string& core) {
  using I = Instructions;
  static const std::map<std::string, I> kinds = {{"sapphirerapids", I::avx512},
                                                 {"cooperlake", I::avx512},
                                                 {"skylakex", I::avx512},
                                                 {"haswell", I::avx2},
                                                 {"zen", I::avx2},
                                                 {"excavator", I::avx2},
                                                 {"sandybridge", I::avx},
                                                 {"bulldozer", I::avx},
                                                 {"piledriver", I::avx},
                                                 {"steamroller", I::avx},
                                                 {"nehalem", I::sse},
                                                 {"dunnington", I::sse},
                                                 {"penryn", I::sse},
                                                 {"core2", I::sse},
                                                 {"prescott", I::sse},
                                                 {"atom", I::sse},
                                                 {"barcelona", I::sse},
                                                 {"bobcat", I::sse},
                                                 {"opteron", I::sse},
                                                 {"opteron_sse3", I::sse},
                                                 {"athlon", I::sse},
                                                 {"katmai", I::sse},
                                                 {"coppermine", I::sse},
                                                 {"northwood", I::sse},
                                                 {"banias", I::sse},
                                                 {"nano", I::sse}};
  std::string low = core;
  std::ranges::transform(low, low.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  const auto at = kinds.find(low);
  return at == kinds.end() ? I::unknown : at->second;
}

std::pair<std::string, Instructions> isa_of_onednn(unsigned isa) {
  using I = Instructions;
  // dnnl_cpu_isa_t of versions 2 and 3, which share their values but for AMX and 256-bit VNNI.
  static const std::map<unsigned, std::pair<std::string, I>> names = {
      {0x1, {"sse41", I::sse}},
      {0x3, {"avx", I::avx}},
      {0x7, {"avx2", I::avx2}},
      {0xF, {"avx2_vnni", I::avx2}},
      {0x1F, {"avx2_vnni_2", I::avx2}},
      {0x407, {"avx2_vnni", I::avx2}},
      {0x27, {"avx512_core", I::avx512}},
      {0x67, {"avx512_core_vnni", I::avx512}},
      {0xE7, {"avx512_core_bf16", I::avx512}},
      {0x1EF, {"avx512_core_fp16", I::avx512}},
      {0x3E7, {"avx512_core_amx", I::amx}},
      {0xFEF, {"avx512_core_amx", I::amx}},
      {0x1FEF, {"avx512_core_amx_fp16", I::amx}}};
  const auto at = names.find(isa);
  return at == names.end() ? std::pair{fmt::format("isa {:#x}", isa), I::unknown} : at->second;
}

PeerLibrary judged(PeerLibrary library, Instructions kernels, Instructions processor, Instructions most) {
  const Instructions possible = std::min(processor, most);
  if (kernels != Instructions::unknown && kernels < possible)
    library.held_back =
        fmt::format("its kernels use {}, and the processor has {}", name_of(kernels), name_of(possible));
  return library;
}

PeerLibrary peer_library(const Variant& variant) {
  if (given()) {
    const auto at = given()->find(variant.id);
    return at == given()->end() ? PeerLibrary{} : at->second;
  }
  if (!variant.peer || variant.backend != "cpu") return {};
  const auto calls = [&](const char* name) { return variant.rung.find(name) != std::string::npos; };
  if (calls("openblas")) return openblas();
  if (!calls("onednn")) return {};
  if (!calls("onednn3")) return onednn(RTLD_DEFAULT);
  void* const object = onednn3_object();
  return object == nullptr ? PeerLibrary{} : onednn(object);
}

GivenPeerLibraries::GivenPeerLibraries(std::map<std::string, PeerLibrary> by_id) {
  given() = std::move(by_id);
}

GivenPeerLibraries::~GivenPeerLibraries() { given().reset(); }

}  // namespace klab
