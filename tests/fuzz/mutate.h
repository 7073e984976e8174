// Broken inputs for readers: bytes changed anywhere, and changes that keep the outer form and break the
// content.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace klab::fuzz {

/// Inputs a reader gets: a smoke corpus, or KLAB_FUZZ of the environment.
inline int inputs() {
  const char* asked = std::getenv("KLAB_FUZZ");
  return asked != nullptr ? std::max(1, std::atoi(asked)) : 250;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  size_t below(size_t n) { return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  /// One to four changes of bytes: bits, values, pieces taken out, doubled or moved, the end cut off.
  std::string bytes(std::string text) {
    for (size_t k = 0; k <= below(4); ++k) byte_change(text);
    return text;
  }

  /// One to three changes to a document's tree: values of other kinds and sizes, members gone, doubled, renamed, swapped.
  nlohmann::json tree(nlohmann::json document) {
    for (size_t k = 0; k <= below(3); ++k) {
      std::vector<nlohmann::json*> nodes;
      collect(document, nodes);
      tree_change(*nodes[below(nodes.size())]);
    }
    return document;
  }

  /// A text of JSON: half of the time its tree is changed, else its bytes.
  std::string json(const nlohmann::json& document) {
    if (below(2) == 0) return bytes(document.dump());
    return tree(document).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  /// A safetensors file: its header's tree is changed and its length put right, or bytes anywhere.
  std::string safetensors(const std::string& file) {
    if (below(2) == 0) return bytes(file);
    uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    nlohmann::json header = nlohmann::json::parse(file.substr(8, length));
    // Metadata that is itself JSON is changed as such half of the time.
    auto& metadata = header["__metadata__"];
    if (below(2) == 0 && metadata.is_object() && !metadata.empty()) {
      auto member = metadata.begin();
      std::advance(member, std::ptrdiff_t(below(metadata.size())));
      const auto inner = nlohmann::json::parse(member->get<std::string>(), nullptr, false);
      *member = inner.is_discarded() ? bytes(member->get<std::string>()) : json(inner);
    } else {
      header = tree(header);
    }
    const std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const uint64_t now = text.size();
    std::string out(8, '\0');
    std::memcpy(out.data(), &now, 8);
    out += text + file.substr(8 + length);
    // NaN and infinities among the data.
    if (below(4) == 0 && out.size() > 12 + now) {
      const uint32_t odd[] = {0x7FC00000U, 0x7F800000U, 0xFFFFFFFFU};
      std::memcpy(out.data() + 8 + now + 4 * below((out.size() - 8 - now) / 4), &odd[below(3)], 4);
    }
    return out;
  }

  /// A PNG of which one chunk is changed; its checksum is corrected, so that the reader accepts the content.
  std::string png(const std::string& file) {
    if (below(3) == 0) return bytes(file);
    std::string out = file;
    std::vector<size_t> chunks;
    for (size_t at = 8; at + 12 <= out.size(); at += 12 + size_at(out, at)) {
      chunks.push_back(at);
      if (size_at(out, at) > out.size()) break;
    }
    const size_t at = chunks[below(chunks.size())];
    const size_t size = std::min<size_t>(size_at(out, at), out.size() - at - 12);
    if (size > 0) out[at + 8 + below(size)] = char(below(256));
    const uint32_t sum = crc(std::string_view(out).substr(at + 4, size + 4));
    for (size_t k = 0; k < 4; ++k) out[at + 8 + size + k] = char(sum >> (24 - 8 * k));
    return out;
  }

  /// Lines of cells: a cell becomes something odd, a line goes, comes twice or is cut; or bytes change.
  std::string table(const std::string& text) {
    if (below(3) == 0) return bytes(text);
    std::vector<std::string> lines;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    const size_t at = below(lines.size());
    switch (below(4)) {
      case 0:
        lines.erase(lines.begin() + std::ptrdiff_t(at));
        break;
      case 1:
        lines.push_back(lines[at]);
        break;
      default: {
        std::string& line = lines[at];
        const size_t begin = below(line.size() + 1), comma = line.find(',', begin);
        const size_t end = comma == std::string::npos ? line.size() : comma;
        line.replace(begin, end - begin, odd_cell());
      }
    }
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
  }

 private:
  void byte_change(std::string& text) {
    if (text.empty()) {
      text = "x";
      return;
    }
    const size_t at = below(text.size()), length = std::min(text.size() - at, 1 + below(1 + text.size() / 8));
    constexpr char values[] = {0,   1,   127, char(128), char(255), '"',  '{',
                               '[', '-', '9', 'e',       '\\',      '\n', ','};
    switch (below(7)) {
      case 0:
        text[at] = char(text[at] ^ (1 << below(8)));
        break;
      case 1:
        text[at] = values[below(sizeof values)];
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        text.insert(at, std::string(1 + below(8), values[below(sizeof values)]));
        break;
      default:
        std::swap(text[at], text[below(text.size())]);
    }
  }

  static void collect(nlohmann::json& node, std::vector<nlohmann::json*>& nodes) {
    nodes.push_back(&node);
    if (node.is_structured())
      for (auto& child : node) collect(child, nodes);
  }

  nlohmann::json odd_value() {
    const std::vector<nlohmann::json> values = {nullptr,
                                                true,
                                                -1,
                                                0,
                                                0.5,
                                                1e39,
                                                -1e308,
                                                1e-320,
                                                1e17,
                                                int64_t(1) << 62,
                                                uint64_t(-1),
                                                std::numeric_limits<int64_t>::min(),
                                                "",
                                                "x",
                                                std::string("\0\x01", 2),
                                                std::string(5000, 'y'),
                                                nlohmann::json::array(),
                                                nlohmann::json::object(),
                                                {1, 2, 3},
                                                {{"a", 1}}};
    if (below(12) > 0) return values[below(values.size())];
    nlohmann::json deep = 1;
    for (size_t k = 0; k < 1 + below(500); ++k) deep = nlohmann::json::array({deep});
    return deep;
  }

  void tree_change(nlohmann::json& node) {
    if (node.is_object() && !node.empty() && below(2) == 0) {
      auto member = node.begin();
      std::advance(member, std::ptrdiff_t(below(node.size())));
      const std::string key = member.key();
      nlohmann::json value = *member;
      if (below(2) == 0) node.erase(key);
      if (below(2) == 0) node[key + (below(2) == 0 ? "_" : "\xC3\xA9")] = value;
    } else if (node.is_array() && !node.empty() && below(2) == 0) {
      const auto at = node.begin() + std::ptrdiff_t(below(node.size()));
      if (below(2) == 0) {
        node.erase(at);
      } else {
        const nlohmann::json copy = *at;
        node.push_back(copy);
      }
    } else if (node.is_number() && below(2) == 0) {
      const double factors[] = {-1, 0, 2, 1e3, 1e10, 1e30, 1e-30};
      node = node.get<double>() * factors[below(7)];
    } else {
      node = odd_value();
    }
  }

  std::string odd_cell() {
    constexpr const char* cells[] = {"",   "nan",  "inf",    "-1", "1e400", "18446744073709551616",
                                     "\"", "\"\"", "x,y",    "0",  ";",     "1;2",
                                     "-",  "0x10", "1e-400", " ",  "\xFF",  "cold"};
    return cells[below(std::size(cells))];
  }

  static size_t size_at(const std::string& png, size_t at) {
    size_t size = 0;
    for (size_t k = 0; k < 4; ++k) size = size << 8 | uint8_t(png[at + k]);
    return size;
  }

  // CRC-32 of PNG (ISO 3309), bit by bit.
  static uint32_t crc(std::string_view data) {
    uint32_t c = 0xFFFFFFFFU;
    for (const char byte : data) {
      c ^= uint8_t(byte);
      for (int k = 0; k < 8; ++k) c = (c & 1U) != 0 ? 0xEDB88320U ^ (c >> 1) : c >> 1;
    }
    return ~c;
  }

  std::mt19937_64 random_;
};

}  // namespace klab::fuzz
