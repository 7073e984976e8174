#include "labs/radiance/splat/zip_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <span>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/refused.h"

namespace klab {
namespace {

constexpr int64_t kMostZipBytes = 0xFFFFFFFE;
constexpr uint32_t kLocalMark = 0x04034B50, kCentralMark = 0x02014B50, kEndMark = 0x06054B50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kMostComment = 65535,
                 kMostFiles = 1000;
constexpr size_t kMostRatio = 1032;  // of DEFLATE
constexpr uint16_t kZipVersion = 20,
                   kFirstDay = 0x21;  // 1 January 1980: archives of the same files are the same bytes

/// Appends little-endian numbers.
class LittleEndian {
 public:
  LittleEndian& u16(size_t v) { return add(v, 2); }
  LittleEndian& u32(size_t v) { return add(v, 4); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  LittleEndian& add(size_t v, int count) {
    for (int k = 0; k < count; ++k) bytes_.push_back(uint8_t(v >> (8 * k) & 255));
    return *this;
  }
  std::vector<uint8_t> bytes_;
};

/// What both headers of a file have in common.
LittleEndian& add_zip_fields(LittleEndian& to, uint32_t sum, size_t bytes, const std::string& name) {
  return to.u16(kZipVersion)
      .u16(0)
      .u16(0)
      .u16(0)
      .u16(kFirstDay)
      .u32(sum)
      .u32(bytes)
      .u32(bytes)
      .u16(name.size())
      .u16(0);
}

uint32_t sum_of_zip(std::span<const uint8_t> bytes) {
  return uint32_t(crc32_z(crc32_z(0, nullptr, 0), bytes.data(), bytes.size()));
}

class ZipReader {
 public:
  ZipReader(const std::filesystem::path& file, const std::vector<uint8_t>& bytes)
      : file_(file), bytes_(bytes) {}

  std::map<std::string, std::vector<uint8_t>> files() const {
    const size_t end = end_record(), count = number(end + 10, 2);
    size_t at = number(end + 16, 4);
    if (count > kMostFiles) refuse(fmt::format("is a zip of {} files", count));
    std::map<std::string, std::vector<uint8_t>> out;
    size_t total = 0;
    for (size_t i = 0; i < count; ++i) {
      if (number(at, 4) != kCentralMark)
        refuse("is a damaged zip: its directory does not hold what it should");
      total += number(at + 24, 4);
      if (total / kMostRatio > bytes_.size())
        refuse("is a zip whose directory says more than its files hold");
      const size_t name = number(at + 28, 2), behind = name + number(at + 30, 2) + number(at + 32, 2);
      const std::span<const uint8_t> text = part(at + kCentralBytes, name);
      out[std::string(text.begin(), text.end())] = content(at);
      at += kCentralBytes + behind;
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Refused(file_, "zip", why, "copy the file again");
  }
  std::span<const uint8_t> part(size_t at, size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) refuse("is cut short, or a damaged zip");
    return {bytes_.data() + at, count};
  }
  size_t number(size_t at, size_t count) const {
    size_t v = 0;
    for (const std::span<const uint8_t> bytes = part(at, count); count-- > 0;) v = v << 8 | bytes[count];
    return v;
  }
  size_t end_record() const {
    for (size_t back = kEndBytes; back <= std::min(bytes_.size(), kEndBytes + kMostComment); ++back)
      if (number(bytes_.size() - back, 4) == kEndMark) return bytes_.size() - back;
    refuse("is no zip, or is cut short: it has no directory at its end");
  }
  std::vector<uint8_t> content(size_t entry) const {
    const size_t flags = number(entry + 8, 2), method = number(entry + 10, 2), packed = number(entry + 20, 4),
                 whole = number(entry + 24, 4), local = number(entry + 42, 4);
    if ((flags & 1) != 0) refuse("is an encrypted zip");
    if (number(local, 4) != kLocalMark)
      refuse("is a damaged zip: a file does not begin where its directory says");
    const std::span<const uint8_t> data =
        part(local + kLocalBytes + number(local + 26, 2) + number(local + 28, 2), packed);
    std::vector<uint8_t> out;
    if (method == 0 && packed == whole)
      out.assign(data.begin(), data.end());
    else if (method == 8)
      out = inflated(data, whole);
    else
      refuse(fmt::format("is a zip with a file that is packed by method {}, or damaged", method));
    if (sum_of_zip(out) != number(entry + 16, 4))
      refuse("is a damaged zip: the checksum of a file is another one");
    return out;
  }
  std::vector<uint8_t> inflated(std::span<const uint8_t> data, size_t whole) const {
    std::vector<uint8_t> out(whole);
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    stream.next_in = const_cast<Bytef*>(data.data());
    stream.avail_in = uInt(data.size());
    stream.next_out = out.data();
    stream.avail_out = uInt(whole);
    const int code = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    if (code != Z_STREAM_END || stream.avail_out != 0) refuse("is a damaged zip: a file cannot be unpacked");
    return out;
  }

  const std::filesystem::path& file_;
  const std::vector<uint8_t>& bytes_;
};

}  // namespace

void write_zip(const std::filesystem::path& file,
               const std::vector<std::pair<std::string, std::vector<uint8_t>>>& entries) {
  AtomicFile out(file);
  std::vector<std::vector<uint8_t>> central;
  size_t at = 0;
  const auto write = [&](std::span<const uint8_t> bytes) {
    out.write(bytes.data(), bytes.size());
    at += bytes.size();
    if (at > size_t(kMostZipBytes))
      throw std::runtime_error(file.string() +
                               ": would have more than 4 GB, which a zip cannot hold: write a .ply");
  };
  const auto as_bytes = [](const std::string& text) -> std::span<const uint8_t> {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  };
  for (const auto& [name, bytes] : entries) {
    const uint32_t sum = sum_of_zip(bytes);
    LittleEndian header, entry;
    add_zip_fields(entry.u32(kCentralMark).u16(kZipVersion), sum, bytes.size(), name)
        .u16(0)
        .u16(0)
        .u16(0)
        .u32(0)
        .u32(at);
    write(add_zip_fields(header.u32(kLocalMark), sum, bytes.size(), name).bytes());
    write(as_bytes(name));
    write(bytes);
    central.push_back(entry.bytes());
    central.back().insert(central.back().end(), name.begin(), name.end());
  }
  const size_t begin = at;
  for (const std::vector<uint8_t>& entry : central) write(entry);
  LittleEndian end;
  const size_t bytes = at - begin;
  end.u32(kEndMark).u16(0).u16(0).u16(central.size()).u16(central.size()).u32(bytes).u32(begin).u16(0);
  write(end.bytes());
  out.commit();
}

std::map<std::string, std::vector<uint8_t>> read_zip(const std::filesystem::path& file) {
  const std::vector<uint8_t> bytes = read_bytes(file, kMostZipBytes);
  return ZipReader(file, bytes).files();
}

}  // namespace klab
