#include "labs/radiance/splat/spz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>

#include "harness/records/atomic_file.h"
#include "harness/records/input.h"
#include "harness/records/refused.h"
#include "labs/radiance/field/packed_tree.h"
#include "labs/radiance/splat/ply.h"
#include "labs/radiance/splat/zstd_stream.h"

namespace klab {
namespace {

constexpr uint32_t kMagic = 0x5053474E;  // "NGSP"
constexpr int64_t kMostSpzBytes = 8'000'000'000;
constexpr uint32_t kSpzAntialiased = 1, kSpzExtensions = 2;  // flags
constexpr float kColorLevels = 0.15F * 255;
constexpr float kRootHalf = 0.70710678F;
constexpr uint32_t kNineBits = 511;

struct SpzHeader {
  uint32_t magic = kMagic, version = 3, gaussians = 0;
  uint8_t degree = 0, fractional_bits = 0, flags = 0, reserved = 0;
};
static_assert(sizeof(SpzHeader) == 16);

/// The header of version 4.
struct SpzHeader4 {
  uint32_t magic = kMagic, version = 4, gaussians = 0;
  uint8_t degree = 0, fractional_bits = 0, flags = 0, streams = 0;
  uint32_t table = 32;  // where it begins
  uint32_t reserved[3] = {};
};
static_assert(sizeof(SpzHeader4) == 32);

/// The place of one stream in the table of version 4.
struct SpzStream {
  uint64_t packed = 0, bytes = 0;
};

/// Where the properties lie in a file of this header.
struct SpzLayout {
  size_t n, rotation_bytes, functions;
  explicit SpzLayout(const SpzHeader& h)
      : n(h.gaussians),
        rotation_bytes(h.version >= 3 ? 4 : 3),
        functions(size_t(h.degree + 1) * size_t(h.degree + 1) - 1) {}
  size_t opacities() const { return sizeof(SpzHeader) + 9 * n; }
  size_t colors() const { return opacities() + n; }
  size_t scales() const { return colors() + 3 * n; }
  size_t rotations() const { return scales() + 3 * n; }
  size_t harmonics() const { return rotations() + rotation_bytes * n; }
  size_t end() const { return harmonics() + 3 * functions * n; }
  /// Returns where each property that is not empty begins, and the end.
  std::vector<size_t> borders() const {
    std::vector<size_t> at = {sizeof(SpzHeader), opacities(), colors(), scales(), rotations(), harmonics()};
    if (functions > 0) at.push_back(end());
    return at;
  }
};

/// The world of SPZ's axes: half a turn about x of the scene's.
WorldPlace spz_place(WorldPlace place) {
  for (size_t row = 0; row < 9; row += 3)
    place.turn[row + 1] = -place.turn[row + 1], place.turn[row + 2] = -place.turn[row + 2];
  place.origin[1] = -place.origin[1], place.origin[2] = -place.origin[2];
  return place;
}

uint8_t byte_of(float v) { return uint8_t(std::clamp(std::lround(v), 0L, 255L)); }

/// Packs a rotation, w first, without its largest component.
uint32_t smallest_three(const float (&quaternion)[4]) {
  const float q[4] = {quaternion[1], quaternion[2], quaternion[3], quaternion[0]};
  float length = 0;
  uint32_t largest = 0;
  for (uint32_t k = 0; k < 4; ++k) {
    length += q[k] * q[k];
    if (std::abs(q[k]) > std::abs(q[largest])) largest = k;
  }
  length = std::max(std::sqrt(length), 1e-20F);
  uint32_t packed = largest;
  for (uint32_t k = 0; k < 4; ++k) {
    if (k == largest) continue;
    const bool negative = (q[k] < 0) != (q[largest] < 0);
    const auto amount = uint32_t(std::lround(float(kNineBits) * std::abs(q[k]) / length / kRootHalf));
    packed = packed << 10 | uint32_t(negative) << 9 | std::min(amount, kNineBits);
  }
  return packed;
}

std::array<float, 4> from_smallest_three(uint32_t packed) {
  float q[4] = {};
  const uint32_t largest = packed >> 30;
  float squares = 0;
  for (uint32_t k = 4; k-- > 0;) {
    if (k == largest) continue;
    q[k] = kRootHalf * float(packed & kNineBits) / float(kNineBits);
    if ((packed >> 9 & 1) != 0) q[k] = -q[k];
    squares += q[k] * q[k];
    packed >>= 10;
  }
  q[largest] = std::sqrt(std::max(0.0F, 1 - squares));
  return {q[3], q[0], q[1], q[2]};
}

std::array<float, 4> from_three_bytes(const uint8_t* bytes) {
  float q[3], squares = 0;
  for (size_t k = 0; k < 3; ++k) q[k] = float(bytes[k]) / 127.5F - 1, squares += q[k] * q[k];
  return {std::sqrt(std::max(0.0F, 1 - squares)), q[0], q[1], q[2]};
}

std::vector<uint8_t> packed_gaussians(const std::filesystem::path& file, const GaussianSet& set) {
  const auto n = size_t(set.n);
  for (const std::vector<float>* values :
       {&set.position, &set.log_scale, &set.quaternion, &set.opacity_raw, &set.coefficients})
    if (!std::ranges::all_of(*values, [](float x) { return std::isfinite(x); }))
      throw std::runtime_error(
          fmt::format("{}: a Gaussian has a number that is not finite, which SPZ cannot hold: train it again",
                      file.string()));
  float farthest = 0;
  for (const float x : set.position) farthest = std::max(farthest, std::abs(x));
  constexpr float kMostUnits = 8388607;
  SpzHeader header;
  header.gaussians = uint32_t(n);
  header.degree = uint8_t(set.degree);
  header.flags = uint8_t(set.antialiased ? kSpzAntialiased : 0);
  while (header.fractional_bits < 20 && farthest * float(1U << (header.fractional_bits + 1)) < kMostUnits)
    ++header.fractional_bits;
  if (!(farthest < kMostUnits))
    throw std::runtime_error(fmt::format(
        "{}: a Gaussian lies {:g} away from the origin, more than SPZ's 24 bits can hold: write a .ply",
        file.string(), farthest));
  const SpzLayout at(header);
  std::vector<uint8_t> out(at.end());
  std::memcpy(out.data(), &header, sizeof header);
  const auto unit = float(1U << header.fractional_bits);
  for (size_t i = 0; i < n; ++i) {
    const auto value = [&](const std::vector<float>& of, size_t k) { return of[k * n + i]; };
    for (size_t k = 0; k < 3; ++k) {
      const auto fixed = int32_t(std::lround(value(set.position, k) * unit));
      for (size_t b = 0; b < 3; ++b)
        out[sizeof header + 9 * i + 3 * k + b] = uint8_t(uint32_t(fixed) >> (8 * b) & 255);
      out[at.colors() + 3 * i + k] = byte_of(127.5F + kColorLevels * value(set.coefficients, k));
      out[at.scales() + 3 * i + k] = byte_of(16 * (10 + value(set.log_scale, k)));
      for (size_t f = 0; f < at.functions; ++f)
        out[at.harmonics() + 3 * (at.functions * i + f) + k] =
            byte_of(128 + 128 * value(set.coefficients, 3 * (f + 1) + k));
    }
    out[at.opacities() + i] = byte_of(255 / (1 + std::exp(-set.opacity_raw[i])));
    const uint32_t rotation = smallest_three({value(set.quaternion, 0), value(set.quaternion, 1),
                                              value(set.quaternion, 2), value(set.quaternion, 3)});
    for (size_t b = 0; b < 4; ++b) out[at.rotations() + 4 * i + b] = uint8_t(rotation >> (8 * b) & 255);
  }
  return out;
}

[[noreturn]] void refuse_spz(const std::filesystem::path& file, const std::string& field,
                             const std::string& why, const std::string& remedy = "export the file again") {
  throw Refused(file, field, why, remedy);
}

/// A gzip stream that is unpacked piece by piece.
class Unpacked {
 public:
  Unpacked(const std::filesystem::path& file, const std::vector<uint8_t>& packed) : file_(file) {
    stream_.next_in = const_cast<Bytef*>(packed.data());
    left_ = packed.size();
    if (inflateInit2(&stream_, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Unpacked() { inflateEnd(&stream_); }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  /// Fills the bytes, and refuses a stream that ends before.
  void read(uint8_t* to, size_t bytes) {
    const size_t wanted = bytes;
    const size_t got = some(to, bytes);
    if (got == wanted) return;
    refuse_spz(file_, "bytes", fmt::format("is cut short: its bytes end {} too early", wanted - got),
               "copy the file again");
  }
  /// Refuses a stream that goes on, or whose own end, with the checksum, is missing.
  void require_end() {
    uint8_t more = 0;
    if (some(&more, 1) != 0)
      refuse_spz(file_, "bytes", "holds more bytes than its header says", "export the file again");
    if (!is_whole_)
      refuse_spz(file_, "bytes", "is cut short: the bytes that end a gzip stream are missing",
                 "copy the file again");
  }

 private:
  size_t some(uint8_t* to, size_t bytes) {
    size_t got = 0;
    while (got < bytes && !ended_) {
      constexpr size_t kPiece = 1U << 30;
      const auto room = uInt(std::min(kPiece, bytes - got));
      if (stream_.avail_in == 0) {
        stream_.avail_in = uInt(std::min(kPiece, left_));
        left_ -= stream_.avail_in;
      }
      stream_.next_out = to + got;
      stream_.avail_out = room;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      got += room - stream_.avail_out;
      is_whole_ = code == Z_STREAM_END;
      ended_ = is_whole_ || (code == Z_BUF_ERROR && left_ == 0);
      if (!ended_ && code != Z_OK && code != Z_BUF_ERROR)
        refuse_spz(file_, "gzip", "is no gzip stream, as SPZ of versions 2 and 3 is, or a damaged one",
                   "copy the file again");
    }
    return got;
  }

  const std::filesystem::path& file_;
  z_stream stream_{};
  size_t left_ = 0;
  bool ended_ = false, is_whole_ = false;
};

void require_known(const std::filesystem::path& file, const SpzHeader& h, size_t packed_bytes) {
  if (h.magic != kMagic)
    refuse_spz(file, "magic", "does not begin with SPZ's magic number, NGSP", "name an .spz file");
  if (h.version < 2 || h.version > 4)
    refuse_spz(file, "version", fmt::format("has version {} of SPZ; klab reads 2 to 4", h.version),
               "export it as version 3, or as a .ply");
  if ((h.flags & kSpzExtensions) != 0 && h.version < 4)
    refuse_spz(file, "extensions", "has extensions, which change how values are stored",
               "export it without extensions, or as a .ply");
  if (h.degree > 3)
    refuse_spz(file, "degree", fmt::format("has harmonics of degree {}; klab knows 0 to 3", h.degree),
               "export it with a lower degree");
  if (h.fractional_bits > 23)
    refuse_spz(file, "fractional bits",
               fmt::format("has positions with {} fractional bits, of 24", h.fractional_bits));
  if (h.gaussians == 0) refuse_spz(file, "Gaussians", "has no Gaussians");
  constexpr size_t kMostRatio = 1032;  // of DEFLATE; readers of version 4 take about as much for the most
  if (SpzLayout(h).end() > kMostRatio * packed_bytes)
    refuse_spz(
        file, "Gaussians",
        fmt::format("announces {} Gaussians in {} bytes, which cannot hold them", h.gaussians, packed_bytes),
        "copy the file again");
}

void require_zstd(const std::filesystem::path& file) {
  if (!has_zstd())
    throw Refused(file, "libzstd-dev", "is SPZ of version 4, and this klab was built without libzstd-dev",
                  "install it (sudo apt-get install libzstd-dev) and build klab again, or take version 3");
}

/// Returns whether the bytes begin with a header, as version 4 and later ones do, and not with a gzip stream.
bool begins_with_header(const std::vector<uint8_t>& packed) {
  SpzHeader header;
  if (packed.size() < sizeof header) return false;
  std::memcpy(&header, packed.data(), sizeof header);
  return header.magic == kMagic && header.version > 3;
}

/// Reads the records of extensions. Axes other than those of SPZ are refused; others are named as passed over, once each.
void pass_over_extensions(const std::filesystem::path& file, std::span<const uint8_t> bytes,
                          std::vector<std::string>* notes) {
  constexpr uint32_t kAxesExtension = 0xADBE0003, kNoAxes = 0, kSpzAxes = 4;
  for (size_t at = 0; at < bytes.size();) {
    uint32_t record[2] = {};  // type and length
    if (bytes.size() - at < sizeof record)
      refuse_spz(file, "extensions", "has an extension that is cut short", "export it without extensions");
    std::memcpy(record, bytes.data() + at, sizeof record);
    at += sizeof record;
    if (record[1] > bytes.size() - at)
      refuse_spz(file, "extensions",
                 fmt::format("has an extension of {} bytes where {} are left", record[1], bytes.size() - at),
                 "export it without extensions");
    uint32_t axes = kSpzAxes;
    if (record[0] == kAxesExtension && record[1] >= sizeof axes)
      std::memcpy(&axes, bytes.data() + at, sizeof axes);
    if (axes != kSpzAxes && axes != kNoAxes)
      refuse_spz(
          file, "axes",
          fmt::format("has axes of its own (coordinate system {}), not those of SPZ, right, up and back",
                      axes),
          "export it without that extension, or as a .ply");
    if (record[0] != kAxesExtension && notes != nullptr)
      notes->push_back(
          fmt::format("an extension of SPZ is passed over: type {:#010x}, {} bytes", record[0], record[1]));
    at += record[1];
  }
}

/// Unpacks version 4. Returns its properties as version 3 holds them, behind a header.
std::vector<uint8_t> unpacked_streams(const std::filesystem::path& file, std::span<const uint8_t> packed,
                                      SpzHeader& header, std::vector<std::string>* notes) {
  SpzHeader4 h;
  std::memcpy(&header, packed.data(),
              sizeof header);  // a version that is not known is named before anything else
  require_known(file, header, packed.size());
  require_zstd(file);
  if (packed.size() < sizeof h)
    refuse_spz(file, "bytes", fmt::format("is cut short: a header of {} bytes", packed.size()),
               "copy the file again");
  std::memcpy(&h, packed.data(), sizeof h);
  const std::vector<size_t> borders = SpzLayout(header).borders();
  if (h.streams + 1U != borders.size())
    refuse_spz(file, "streams",
               fmt::format("has {} streams; Gaussians of degree {} have {}", h.streams, h.degree,
                           borders.size() - 1));
  const uint64_t streams_begin = uint64_t(h.table) + sizeof(SpzStream) * h.streams;
  if (h.table < sizeof h || streams_begin > packed.size())
    refuse_spz(file, "table", fmt::format("has a table of streams at byte {} of {}", h.table, packed.size()),
               "copy the file again");
  if ((h.flags & kSpzExtensions) != 0)
    pass_over_extensions(file, packed.subspan(sizeof h, h.table - sizeof h), notes);
  std::vector<uint8_t> bytes(borders.back());
  uint64_t at = streams_begin;
  for (size_t k = 0; k < h.streams; ++k) {
    SpzStream stream;
    std::memcpy(&stream, packed.data() + h.table + k * sizeof stream, sizeof stream);
    const size_t wanted = borders[k + 1] - borders[k];
    if (stream.bytes != wanted)
      refuse_spz(
          file, "bytes",
          fmt::format("announces {} bytes in stream {}, where {} belong", stream.bytes, k + 1, wanted));
    if (stream.packed > packed.size() - at)
      refuse_spz(file, "stream", fmt::format("is cut short: stream {} ends behind the file", k + 1),
                 "copy the file again");
    try {
      unpack_zstd(packed.subspan(at, stream.packed), std::span(bytes).subspan(borders[k], wanted));
    } catch (const std::runtime_error& e) {
      refuse_spz(file, "stream", fmt::format("stream {} {}", k + 1, e.what()), "copy the file again");
    }
    at += stream.packed;
  }
  if (at != packed.size())
    refuse_spz(file, "bytes", "holds more bytes than its table says", "export the file again");
  return bytes;
}

/// Unpacks versions 2 and 3.
std::vector<uint8_t> unpacked_gzip(const std::filesystem::path& file, const std::vector<uint8_t>& packed,
                                   SpzHeader& header) {
  Unpacked unpacked(file, packed);
  unpacked.read(reinterpret_cast<uint8_t*>(&header), sizeof header);
  require_known(file, header, packed.size());
  if (header.version > 3)
    refuse_spz(file, "version",
               fmt::format("is a gzip stream of version {} of SPZ, which is none", header.version));
  std::vector<uint8_t> bytes(SpzLayout(header).end());
  unpacked.read(bytes.data() + sizeof header, bytes.size() - sizeof header);
  unpacked.require_end();
  return bytes;
}

/// Writes version 4 of the bytes of version 3.
void write_streams(AtomicFile& out, const std::vector<uint8_t>& bytes) {
  SpzHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::vector<size_t> borders = SpzLayout(header).borders();
  SpzHeader4 h;
  h.gaussians = header.gaussians;
  h.degree = header.degree, h.fractional_bits = header.fractional_bits, h.flags = header.flags;
  h.streams = uint8_t(borders.size() - 1);
  std::vector<SpzStream> table;
  std::vector<std::vector<uint8_t>> streams;
  for (size_t k = 0; k + 1 < borders.size(); ++k) {
    const size_t size = borders[k + 1] - borders[k];
    streams.push_back(zstd_of(std::span(bytes).subspan(borders[k], size)));
    table.push_back({streams.back().size(), size});
  }
  out.write(&h, sizeof h);
  out.write(table.data(), table.size() * sizeof(SpzStream));
  for (const std::vector<uint8_t>& stream : streams) out.write(stream.data(), stream.size());
}

}  // namespace

void save_spz(const std::filesystem::path& file, const GaussianSet& grid, const WorldPlace& place,
              int version) {
  if (version == 4) require_zstd(file);
  const std::vector<uint8_t> bytes = packed_gaussians(file, in_world(grid, spz_place(place)));
  AtomicFile out(file);
  if (version == 4)
    write_streams(out, bytes);
  else
    write_gzip(out, bytes);
  out.commit();
}

GaussianSet load_spz(const std::filesystem::path& file, const WorldPlace& place,
                     std::vector<std::string>* notes) {
  const std::vector<uint8_t> packed = read_bytes(file, kMostSpzBytes);
  SpzHeader header;
  const std::vector<uint8_t> bytes = begins_with_header(packed)
                                         ? unpacked_streams(file, packed, header, notes)
                                         : unpacked_gzip(file, packed, header);
  const SpzLayout at(header);
  GaussianSet set = GaussianSet::zeros(int64_t(at.n), header.degree);
  set.antialiased = (header.flags & kSpzAntialiased) != 0;
  const size_t n = at.n;
  const float unit = std::ldexp(1.0F, -int(header.fractional_bits));
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < 3; ++k) {
      const uint8_t* p = bytes.data() + sizeof header + 9 * i + 3 * k;
      const uint32_t fixed = uint32_t(p[0]) << 8 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 24;
      set.position[k * n + i] = float(int32_t(fixed) / 256) * unit;  // exact: the lowest 8 bits are 0
      set.coefficients[k * n + i] = (float(bytes[at.colors() + 3 * i + k]) - 127.5F) / kColorLevels;
      set.log_scale[k * n + i] = float(bytes[at.scales() + 3 * i + k]) / 16 - 10;
      for (size_t f = 0; f < at.functions; ++f)
        set.coefficients[(3 * (f + 1) + k) * n + i] =
            (float(bytes[at.harmonics() + 3 * (at.functions * i + f) + k]) - 128) / 128;
    }
    const float opacity = std::clamp(float(bytes[at.opacities() + i]), 0.5F, 254.5F) / 255;
    set.opacity_raw[i] = std::log(opacity / (1 - opacity));
    const uint8_t* r = bytes.data() + at.rotations() + at.rotation_bytes * i;
    const std::array<float, 4> q = at.rotation_bytes == 4
                                       ? from_smallest_three(uint32_t(r[0]) | uint32_t(r[1]) << 8 |
                                                             uint32_t(r[2]) << 16 | uint32_t(r[3]) << 24)
                                       : from_three_bytes(r);
    for (size_t k = 0; k < 4; ++k) set.quaternion[k * n + i] = q[k];
  }
  const WorldPlace turned = spz_place(place);
  subtract_origin(set, turned);
  return in_grid(std::move(set), turned);
}

}  // namespace klab
