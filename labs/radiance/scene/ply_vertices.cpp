#include "labs/radiance/scene/ply_vertices.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "harness/records/input.h"
#include "harness/records/numbers.h"
#include "harness/records/refused.h"
#include "labs/radiance/scene/points.h"

namespace klab {
namespace {

static_assert(std::endian::native == std::endian::little, "the processor's numbers are little-endian");

constexpr size_t kLongestLine = 1 << 20;

double ply_number(const uint8_t* at, const PlyType& type, bool swap) {
  uint8_t bytes[8];
  std::memcpy(bytes, at, size_t(type.size));
  if (swap) std::reverse(bytes, bytes + type.size);
  const auto as = [&]<class T>(T value) {
    std::memcpy(&value, bytes, sizeof value);
    return double(value);
  };
  const bool negative = type.kind == PlyType::Kind::integer;
  if (type.kind == PlyType::Kind::floating) return type.size == 4 ? as(float()) : as(double());
  if (type.size == 1) return negative ? as(int8_t()) : as(uint8_t());
  if (type.size == 2) return negative ? as(int16_t()) : as(uint16_t());
  return negative ? as(int32_t()) : as(uint32_t());
}

/// Reads the elements of a file in order.
class PlyBody {
 public:
  PlyBody(const std::filesystem::path& file, const std::vector<uint8_t>& bytes, const PlyHeader& header)
      : file_(file),
        bytes_(bytes),
        at_(header.data),
        text_(header.form == PlyHeader::Form::ascii),
        swap_(header.form == PlyHeader::Form::big_endian) {}

  void next(const PlyElement& element, int64_t i, std::span<double> numbers) {
    text_ ? next_line(element, i, numbers) : next_bytes(element, i, numbers);
  }

  void pass_over(const PlyElement& element) {
    if (!text_ && !element.has_lists()) {
      const int64_t each = element.least_bytes();
      if (each > 0 && element.number > int64_t(bytes_.size() - at_) / each) cut(element, 0);
      at_ += size_t(each * element.number);
      return;
    }
    std::vector<double> numbers(element.properties.size());
    for (int64_t i = 0; i < element.number && !element.properties.empty(); ++i) next(element, i, numbers);
  }

 private:
  [[noreturn]] void cut(const PlyElement& element, int64_t i) const {
    const std::string field = "element " + excerpt(element.name);
    throw Refused(file_, field,
                  fmt::format("announces '{}' {} times and ends within number {}", field, element.number, i),
                  "write or copy the file again");
  }

  void next_bytes(const PlyElement& element, int64_t i, std::span<double> numbers) {
    size_t k = 0;
    for (const PlyProperty& property : element.properties) {
      const PlyType& type = property.count ? *property.count : property.type;
      numbers[k] = ply_number(take(element, i, type.size), type, swap_);
      if (property.count) take(element, i, int64_t(numbers[k]) * property.type.size);
      ++k;
    }
  }

  const uint8_t* take(const PlyElement& element, int64_t i, int64_t size) {
    if (size < 0 || size > int64_t(bytes_.size() - at_)) cut(element, i);
    const uint8_t* begin = bytes_.data() + at_;
    at_ += size_t(size);
    return begin;
  }

  void next_line(const PlyElement& element, int64_t i, std::span<double> numbers) {
    std::optional<std::string> line = next_ply_line(bytes_, at_, kLongestLine);
    while (line && Words(*line).next().empty()) line = next_ply_line(bytes_, at_, kLongestLine);
    if (!line) cut(element, i);
    Words words(*line);
    double passed = 0;
    bool good = true;
    size_t k = 0;
    for (const PlyProperty& property : element.properties) {
      good = good && read_number(words.next(), numbers[k]);
      good = good && (!property.count || within(numbers[k], {0, double(kLongestLine)}));
      for (int64_t j = 0; good && property.count && j < int64_t(numbers[k]); ++j)
        good = read_number(words.next(), passed);
      ++k;
    }
    if (!good)
      throw Refused(file_, fmt::format("{} {}", excerpt(element.name), i),
                    fmt::format("{} {} does not have {} numbers (found '{}')", excerpt(element.name), i,
                                element.properties.size(), excerpt(*line)),
                    "correct that line, or write the file again");
  }

  const std::filesystem::path& file_;
  const std::vector<uint8_t>& bytes_;
  size_t at_;
  bool text_, swap_;
};

}  // namespace

void for_each_vertex(const std::filesystem::path& file, const std::vector<uint8_t>& bytes,
                     const PlyHeader& header,
                     const std::function<void(int64_t, std::span<const double>)>& each) {
  PlyBody body(file, bytes, header);
  for (const PlyElement& element : header.before) body.pass_over(element);
  std::vector<double> numbers(header.vertex.properties.size());
  for (int64_t i = 0; i < header.vertex.number; ++i) {
    body.next(header.vertex, i, numbers);
    each(i, numbers);
  }
}

}  // namespace klab
