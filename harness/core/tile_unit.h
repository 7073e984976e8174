// The processor's unit for products of tiles, Intel's AMX: whether kernels may use it, and who still holds tiles.
//
// A tile is a register of up to 16 rows of 64 bytes. A process asks the system once for permission, since its threads then have
// 8 KB more state to save. Where a processor has no such unit, kernels run on the model of kernels/common/tiles.h, which is for
// checks: it is never timed.
//
//   KLAB_PRETEND_TILES=absent    takes the processor for one without the unit: rungs run on the model
//   KLAB_PRETEND_TILES=refused   takes the system for one that refuses the permission: rungs are skipped
#pragma once

#include <string>

namespace klab {

/// What the processor and the system answered.
struct TileAnswers {
  bool tiles = false, bf16 = false, int8 = false;  // CPUID
  bool saved = false;                              // the system saves tiles when it switches threads (XCR0)
  int error = 0;                                   // errno of the request for permission
  bool pretended = false;                          // by KLAB_PRETEND_TILES=absent
};

struct TileUnit {
  enum class State { absent, refused, usable } state = State::absent;
  bool bf16 = false, int8 = false;  // formats whose products it has; false where the unit cannot be used
  std::string why;                  // where it cannot be used: the reason, and what would be needed
};

/// Judges the answers.
TileUnit tile_unit_from(const TileAnswers& answers);

/// Returns what this process may use. The first call asks the system for permission.
const TileUnit& tile_unit();

/// Returns why rungs with tiles cannot run, as the end of "skipped: ...". Empty where they can: on the unit, or on the model for
/// all but timing (supported_for_timing).
std::string why_no_tiles();

/// Returns whether the calling thread holds a configuration of tiles, of the unit or of the model.
bool holds_tiles();

/// Releases the unit's tiles of the calling thread, and forgets that the model's are held.
void release_tiles();

/// Says that the calling thread has configured the model's tiles, or released them. Called by the model.
void model_holds_tiles(bool held);

}  // namespace klab
