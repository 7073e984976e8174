// Ranks whose arrays lie on GPUs that reach each other without the host.
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
  /// All ranks meet by these calls; null, the same on every rank, with the reason, where one of them cannot.
  static std::unique_ptr<DeviceRanks> join(Ranks& ranks, const DeviceCalls& calls, std::string* why);
  /// By those of the module beside the program.
  static std::unique_ptr<DeviceRanks> join(Ranks& ranks, std::string* why);
  ~DeviceRanks() { calls_.leave(); }
  DeviceRanks(const DeviceRanks&) = delete;
  DeviceRanks& operator=(const DeviceRanks&) = delete;

  /// In place: each element becomes the mean of all ranks'. The order of additions is the library's: the same bits on every rank,
  /// and not those of a sum in the order of the ranks. These three throw std::runtime_error with the library's words.
  void mean(float* values, int64_t count);
  /// Part r of an array, so many bytes from a place on, becomes the mean on rank r; what is there on others means nothing.
  void mean_of_parts(float* values, std::span<const Piece> parts);
  /// Part r comes from rank r.
  void gather_parts(float* values, std::span<const Piece> parts);

 private:
  DeviceRanks(Ranks& ranks, const DeviceCalls& calls) : ranks_(ranks), calls_(calls) {}
  void sent(int64_t values);
  Ranks& ranks_;
  const DeviceCalls& calls_;
};

/// The GPUs that a process may see, as CUDA_VISIBLE_DEVICES has them: of `visible`, that variable's value, or where it is null of
/// those numbered below `count`, the one that rank `local` of a machine's ranks takes, in turn. Empty: leave it as it is.
std::string gpu_of(int local, const char* visible, int count);

}  // namespace klab
