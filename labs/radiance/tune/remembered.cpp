#include "labs/radiance/tune/remembered.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/core/build_info.h"
#include "harness/program/call_times.h"
#include "harness/records/atomic_file.h"
#include "harness/records/digest.h"
#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/timing/machine.h"

namespace klab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr Range kGain{1e-3, 1e6};
constexpr Range kBatch{0, double(1 << 24)};

std::string word_in(const json& entry, const char* key, const std::string& where) {
  const auto at = entry.find(key);
  if (at == entry.end() || !at->is_string())
    throw std::runtime_error(fmt::format("{}: \"{}\" must be text", where, key));
  return at->get<std::string>();
}

constexpr Range kBlock{32, 1024};

/// Reads block sizes; older versions of klab wrote none. Rungs at their usual size are not listed.
std::map<std::string, int> blocks_in(const json& entry, const std::string& where) {
  const auto at = entry.find("blocks");
  if (at == entry.end()) return {};
  if (!at->is_object()) throw std::runtime_error(where + ": \"blocks\" must be a JSON object");
  std::map<std::string, int> blocks;
  for (const auto& [variant, threads] : at->items()) {
    blocks[variant] = number_in<int>(*at, variant.c_str(), kBlock, where + ", \"blocks\"");
    if (blocks[variant] % 32 != 0)
      throw std::runtime_error(fmt::format("{}, \"blocks\": {} must be a multiple of 32", where, variant));
  }
  return blocks;
}

Tuned from_json(const json& entry, const std::string& where) {
  if (!entry.is_object()) throw std::runtime_error(where + ": must be a JSON object");
  const bool has_blocks = entry.contains("blocks");
  const Range none_or_threads{0, range::threads.high}, none_or_frames{0, range::frames.high},
      none_or_seconds{0, range::seconds.high};
  return {.field = word_in(entry, "field", where),
          .backend = word_in(entry, "backend", where),
          .recipe = word_in(entry, "recipe", where),
          .threads = number_in<int>(entry, "threads", range::threads, where),
          .threads_gain = number_in<double>(entry, "threads_gain", kGain, where),
          .batch_samples = number_in<int64_t>(entry, "batch_samples", kBatch, where),
          .batch_seconds = number_in<double>(entry, "batch_seconds", none_or_seconds, where),
          .batch_gain = number_in<double>(entry, "batch_gain", kGain, where),
          .workers = number_in<int>(entry, "workers", none_or_threads, where),
          .ahead = number_in<int64_t>(entry, "ahead", none_or_frames, where),
          .pictures_gain = number_in<double>(entry, "pictures_gain", kGain, where),
          .blocks = blocks_in(entry, where),
          .blocks_by = has_blocks ? word_in(entry, "blocks_by", where) : "",
          .blocks_gain = has_blocks ? number_in<double>(entry, "blocks_gain", kGain, where) : 1.0,
          .took = number_in<double>(entry, "took", none_or_seconds, where),
          .scene = word_in(entry, "scene", where),
          .date = word_in(entry, "date", where),
          .commit = word_in(entry, "commit", where)};
}

json as_json(const Tuned& t) {
  json entry = {{"field", t.field},
                {"backend", t.backend},
                {"recipe", t.recipe},
                {"threads", t.threads},
                {"threads_gain", t.threads_gain},
                {"batch_samples", t.batch_samples},
                {"batch_seconds", t.batch_seconds},
                {"batch_gain", t.batch_gain},
                {"workers", t.workers},
                {"ahead", t.ahead},
                {"pictures_gain", t.pictures_gain},
                {"took", t.took},
                {"scene", as_utf8(t.scene)},
                {"date", t.date},
                {"commit", t.commit}};
  if (t.blocks_by.empty()) return entry;
  entry["blocks"] = t.blocks;
  entry["blocks_by"] = t.blocks_by;
  entry["blocks_gain"] = t.blocks_gain;
  return entry;
}

std::vector<Tuned> all_in(const fs::path& file) {
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) return {};
  const std::string remedy = "; klab tune writes it again once it is removed";
  try {
    const json document = read_json_file(file);
    if (!document.is_object() || !document.contains("tuned") || !document["tuned"].is_array())
      throw std::runtime_error(file.string() + ": has no list \"tuned\"");
    std::vector<Tuned> list;
    for (const json& entry : document["tuned"])
      list.push_back(from_json(entry, fmt::format("{}, entry {}", file.string(), list.size() + 1)));
    return list;
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(e.what() + remedy);
  }
}

}  // namespace

std::string recipe_of(const FieldSettings& settings) {
  json document = json::parse(to_json_text(settings));
  document.erase("batch_samples");
  document.erase("first_rays");
  return sha256(settings.field + document.dump()).substr(0, 16);
}

fs::path tuned_file() {
  const fs::path times = call_times_cache();
  if (times.empty()) return {};
  return times.parent_path() / ("tuned_" + fingerprint(this_machine()) + ".json");
}

std::optional<Tuned> tuned_in(const fs::path& file, const FieldSettings& settings,
                              const std::string& backend) {
  const std::string recipe = recipe_of(settings);
  for (Tuned& t : all_in(file))
    if (t.field == settings.field && t.backend == backend && t.recipe == recipe) return t;
  return std::nullopt;
}

void remember(const fs::path& file, const Tuned& tuned) {
  std::vector<Tuned> list;
  try {
    list = all_in(file);
  } catch (const std::runtime_error&) {  // an unreadable file is replaced
  }
  std::erase_if(list, [&](const Tuned& t) {
    return t.field == tuned.field && t.backend == tuned.backend && t.recipe == tuned.recipe;
  });
  list.push_back(tuned);
  json document = {{"tuned", json::array()}};
  for (const Tuned& t : list) document["tuned"].push_back(as_json(t));
  fs::create_directories(file.parent_path());
  write_file(file, document.dump(2) + "\n");
}

}  // namespace klab
