// The vendor libraries that peers call: their version, the kernels that they chose for this processor, and whether these are of an
// older kind than the processor is. A library that does not know a processor takes kernels of an earlier one, and may be many times
// slower than it could be: such a peer is named, and is no mark to reach.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "harness/core/variant.h"

namespace klab {

struct PeerLibrary {
  std::string name;     // "oneDNN 2.6.3"; empty: not known, or not loaded
  std::string kernels;  // "avx512_core_bf16", in the library's words; empty where it does not tell
  std::string
      held_back;  // why its kernels are not the best for this processor; empty where they are, or where that is not known
};

/// Kinds of instructions; each has those before it, too.
enum class Instructions { unknown, sse, avx, avx2, avx512, amx };

/// Returns the kind of this processor, of what this process may use.
Instructions instructions_of_processor();
/// Returns the kind of the kernels that OpenBLAS has for a core, as openblas_get_corename() calls it.
Instructions instructions_of_core(const std::string& core);
/// Returns the name of an instruction set as oneDNN's dnnl_cpu_isa_t has it ("avx512_core"), and its kind.
std::pair<std::string, Instructions> isa_of_onednn(unsigned isa);

/// Compares a library's kernels with the processor. `most`: the kind beyond which the library's op has no use for more.
PeerLibrary judged(PeerLibrary library, Instructions kernels, Instructions processor, Instructions most);

/// Returns the library that a peer calls; all empty for rungs and for libraries that tell nothing.
PeerLibrary peer_library(const Variant& variant);

/// Replaces what peer_library() returns while it lives, by variant id; for tests.
class GivenPeerLibraries {
 public:
  explicit GivenPeerLibraries(std::map<std::string, PeerLibrary> by_id);
  ~GivenPeerLibraries();
  GivenPeerLibraries(const GivenPeerLibraries&) = delete;
  GivenPeerLibraries& operator=(const GivenPeerLibraries&) = delete;
};

}  // namespace klab
