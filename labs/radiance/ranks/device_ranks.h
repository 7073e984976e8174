// Ranks whose arrays lie on GPUs that reach each other without going through the host.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "labs/radiance/ranks/device_calls.h"
#include "labs/radiance/ranks/exchange.h"
#include "labs/radiance/ranks/ranks.h"

namespace klab {

class DeviceRanks {
 public:
  /// Joins all ranks by these calls. Returns null on every rank, with the same reason in `why`, if one rank
  /// cannot join.
  static std::unique_ptr<DeviceRanks> join(Ranks& ranks, const DeviceCalls& calls, std::string* why);
  /// Joins by the calls of the module next to the program.
  static std::unique_ptr<DeviceRanks> join(Ranks& ranks, std::string* why);
  ~DeviceRanks() { calls_.leave(); }
  DeviceRanks(const DeviceRanks&) = delete;
  DeviceRanks& operator=(const DeviceRanks&) = delete;

  /// Replaces each element by its mean over all ranks, in place. The library chooses the order of additions:
  /// all ranks get the same bits, but they differ from those of a sum in rank order. This function and the
  /// next two throw std::runtime_error with the library's message.
  void mean(float* values, int64_t count);
  /// Makes part r of an array (a byte range) the mean on rank r. Its values on other ranks are undefined
  /// afterwards.
  void mean_of_parts(float* values, std::span<const Piece> parts);
  /// Copies part r from rank r.
  void gather_parts(float* values, std::span<const Piece> parts);

 private:
  DeviceRanks(Ranks& ranks, const DeviceCalls& calls) : ranks_(ranks), calls_(calls) {}
  void sent(int64_t values);
  Ranks& ranks_;
  const DeviceCalls& calls_;
};

/// Returns the value of CUDA_VISIBLE_DEVICES for rank `local` of a machine: one GPU, assigned round robin.
/// The GPUs are those listed in `visible`, that variable's present value, or, if it is null, those numbered
/// below `count`. Returns an empty string if the variable should stay as it is.
std::string gpu_of(int local, const char* visible, int count);

}  // namespace klab
