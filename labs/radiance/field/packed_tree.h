// MessagePack documents that gzip or zlib has compressed, as instant-ngp writes them: a tree of values, among them blocks of bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "harness/records/atomic_file.h"

namespace klab {

/// Compresses bytes as one gzip stream. Throws FileError.
void write_gzip(AtomicFile& out, std::span<const uint8_t> bytes);

/// Writes a document, compressed. Throws FileError.
void write_packed_tree(const std::filesystem::path& file, const nlohmann::json& tree);

/// Reads a document: one whose name ends in .msgpack as it is, any other as a gzip or zlib stream. Throws Refused for a stream of
/// another kind, one that is damaged, cut short or followed by more bytes, for bytes that are no MessagePack, for more than 64
/// levels of maps and arrays or four million values, and std::runtime_error like read_bytes().
nlohmann::json read_packed_tree(const std::filesystem::path& file);

}  // namespace klab
