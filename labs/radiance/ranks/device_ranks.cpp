#include "labs/radiance/ranks/device_ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace klab {
namespace {

void require(const char* error, const char* what) {
  if (error != nullptr) throw std::runtime_error(fmt::format("{}: {}", what, error));
}

/// Returns the reason of the first rank that has one, the same on every rank; empty if none has.
std::string first_reason(Ranks& ranks, const std::string& mine) {
  const std::vector<std::string> all = ranks.gather(mine);
  for (size_t r = 0; r < all.size(); ++r)
    if (!all[r].empty()) return fmt::format("rank {}: {}", r, all[r]);
  return "";
}

/// Returns the calls of the module, or null with the reason.
const DeviceCalls* module_calls(std::string& why) {
  const auto module = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libklab_nccl.so";
  if (!std::filesystem::exists(module)) {
    why = "this klab was built without NCCL (libnccl-dev)";
    return nullptr;
  }
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    why = dlerror();
    return nullptr;
  }
  auto* calls = reinterpret_cast<DeviceCallsOf*>(dlsym(handle, "klab_device_calls"));
  if (calls == nullptr) why = module.string() + " is no module of klab's";
  return calls == nullptr ? nullptr : calls();
}

struct Bounds {
  std::vector<int64_t> begin, count;  // in values
  explicit Bounds(std::span<const Piece> parts) {
    for (const Piece& p : parts) {
      begin.push_back(p.at / int64_t(sizeof(float)));
      count.push_back(p.bytes / int64_t(sizeof(float)));
    }
  }
  int64_t all() const {
    int64_t sum = 0;
    for (const int64_t n : count) sum += n;
    return sum;
  }
};

}  // namespace

std::unique_ptr<DeviceRanks> DeviceRanks::join(Ranks& ranks, std::string* why) {
  std::string reason;
  const DeviceCalls* calls = module_calls(reason);
  reason = first_reason(ranks, reason);
  if (reason.empty()) return join(ranks, *calls, why);
  if (why != nullptr) *why = reason;
  return nullptr;
}

std::unique_ptr<DeviceRanks> DeviceRanks::join(Ranks& ranks, const DeviceCalls& calls, std::string* why) {
  const auto text = [](const char* error) { return std::string(error == nullptr ? "" : error); };
  std::array<char, DeviceCalls::kIdBytes> id{};
  std::string reason = first_reason(ranks, ranks.first() ? text(calls.new_id(id.data())) : "");
  if (reason.empty()) {
    std::string bytes(id.data(), id.size());
    ranks.broadcast(bytes);
    reason = first_reason(ranks, text(calls.join(bytes.data(), ranks.rank(), ranks.size())));
  }
  if (reason.empty()) return std::unique_ptr<DeviceRanks>(new DeviceRanks(ranks, calls));
  if (why != nullptr) *why = reason;
  return nullptr;
}

// Counts the bytes of a ring.
void DeviceRanks::sent(int64_t values) {
  ranks_.count_sent(values * int64_t(sizeof(float)) * (ranks_.size() - 1) / ranks_.size());
}

void DeviceRanks::mean(float* values, int64_t count) {
  require(calls_.mean(values, count), "the sum over GPUs");
  sent(2 * count);
}

void DeviceRanks::mean_of_parts(float* values, std::span<const Piece> parts) {
  const Bounds bounds(parts);
  require(calls_.mean_of_parts(values, bounds.begin.data(), bounds.count.data()), "the sum over GPUs");
  sent(bounds.all());
}

void DeviceRanks::gather_parts(float* values, std::span<const Piece> parts) {
  const Bounds bounds(parts);
  require(calls_.gather_parts(values, bounds.begin.data(), bounds.count.data()), "parameters of other GPUs");
  sent(bounds.all());
}

std::string gpu_of(int local, const char* visible, int count) {
  std::vector<std::string> all;
  if (visible != nullptr) {
    std::istringstream list(visible);
    for (std::string one; std::getline(list, one, ',');) all.push_back(one);
  } else {
    for (int i = 0; i < count; ++i) all.push_back(std::to_string(i));
  }
  return all.size() < 2 ? "" : all[size_t(local) % all.size()];
}

}  // namespace klab
