// When a trainer draws its pixels by their loss: the lists of an error map, turn by turn. Without such a map, which the
// config asks for, nothing here does anything.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/program/run_ops.h"
#include "labs/radiance/field/config.h"
#include "labs/radiance/train/error_map.h"
#include "labs/radiance/train/ray_step.h"

namespace klab {

/// Where a trainer's programs run, for parts of the trainer that have programs of their own.
struct ProgramRunner {
  Memory& memory;
  RunOps& ops;
  const Plan& plan;
  Profile& profile;
  void run(const char* name, const RunOps::Body& program) const { ops.run(name, plan, profile, program); }
};

class ErrorLists {
 public:
  /// Throws std::runtime_error if the config asks for a map and pictures take turns.
  ErrorLists(const Config& config, const Scene& scene, bool pictures_take_turns);

  /// Returns the pixels in the lists.
  int64_t listed() const { return map_ ? map_->listed() : 0; }
  /// Declares the map's tensors; lists follow the `before` pixels with a ray that views list.
  void declare(Memory& memory, const RayStep& step, int64_t before);
  /// Writes what stays the same, once memory is allocated.
  void write(Memory& memory) const;

  /// Draws the lists for a step, if its turn begins with it: by the present losses.
  void draw(int64_t step, uint64_t seed, const ProgramRunner& runner);
  /// Draws the present turn's lists once more, into new memory.
  void draw_present(uint64_t seed, const ProgramRunner& runner);
  /// Draws the lists after a checkpoint of that step was read: between two drawings they are those of the last one.
  void draw_restored(int64_t step, uint64_t seed, const ProgramRunner& runner);

  /// Weighs the rays of a step, within its program.
  void weigh(Ops& ops, const RayStep& step) const;
  /// Takes over the losses of a step's rays.
  void learn(const RayStep& step, const ProgramRunner& runner) const;

  /// Returns the state for a checkpoint.
  std::vector<TensorView> state() const;

 private:
  void draw_turn(int64_t turn, bool again, uint64_t seed, const ProgramRunner& runner);

  std::optional<ErrorMap> map_;
  int64_t turn_ = -1;  // of the lists
};

}  // namespace klab
