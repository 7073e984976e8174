#include "labs/radiance/field/packed_tree.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/records/input.h"
#include "harness/records/refused.h"

namespace klab {
namespace {

using Tree = nlohmann::json;

constexpr int64_t kMostPackedBytes = 8'000'000'000;
constexpr size_t kMostLevels = 64, kMostValues = 4'000'000;
constexpr const char* kCopyAgain = "copy the file again";

[[noreturn]] void refuse_stream(const std::filesystem::path& file, const std::string& why) {
  throw Refused(file, "gzip", why, kCopyAgain);
}

/// Unpacks a gzip or zlib stream that is all of the file.
std::vector<uint8_t> unpacked(const std::filesystem::path& file, const std::vector<uint8_t>& packed) {
  z_stream stream{};
  if (inflateInit2(&stream, 32 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  struct End {
    z_stream& of;
    ~End() { inflateEnd(&of); }
  } const end{stream};
  constexpr size_t kPiece = size_t(1) << 28;
  std::vector<uint8_t> out;
  size_t given = 0, got = 0;
  for (int code = Z_OK; code != Z_STREAM_END;) {
    if (stream.avail_in == 0 && given < packed.size()) {
      stream.next_in = const_cast<Bytef*>(packed.data() + given);
      stream.avail_in = uInt(std::min(kPiece, packed.size() - given));
      given += stream.avail_in;
    }
    if (got == out.size()) out.resize(std::max<size_t>(2 * got, 1 << 16));
    stream.next_out = out.data() + got;
    stream.avail_out = uInt(std::min(kPiece, out.size() - got));
    const uInt room = stream.avail_out;
    code = inflate(&stream, Z_NO_FLUSH);
    got += room - stream.avail_out;
    const bool at_end = stream.avail_in == 0 && given == packed.size() && stream.avail_out != 0;
    if ((code == Z_OK || code == Z_BUF_ERROR) && at_end)
      refuse_stream(file, "is cut short: the bytes that end a gzip stream are missing");
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      refuse_stream(file, "is no gzip or zlib stream, which a compressed snapshot is, or a damaged one");
  }
  if (stream.avail_in != 0 || given < packed.size())
    refuse_stream(file, "goes on behind the end of its gzip stream");
  out.resize(got);
  return out;
}

/// Builds a document from the parser's events, and ends the parser where a document is too deep or too large.
class TreeBuilder : public nlohmann::json_sax<Tree> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(as_utf8(value)); }
  bool binary(binary_t& value) override { return put(Tree(std::move(value))); }
  bool start_object(size_t) override { return open(Tree::object()); }
  bool start_array(size_t) override { return open(Tree::array()); }
  bool key(string_t& name) override { return key_ = as_utf8(name), true; }
  bool end_object() override { return open_.pop_back(), true; }
  bool end_array() override { return open_.pop_back(), true; }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    why = fmt::format("is no MessagePack, or cut short, at byte {} of its content", at);
    return false;
  }

  Tree root;
  std::string why;  // it was ended; empty: by nothing

 private:
  Tree* add(Tree value) {
    if (++values_ > kMostValues) {
      why = fmt::format("holds more than {} values of MessagePack", kMostValues);
      return nullptr;
    }
    if (open_.empty()) return &(root = std::move(value));
    Tree& in = *open_.back();
    if (in.is_object()) return &(in[key_] = std::move(value));
    in.push_back(std::move(value));
    return &in.back();
  }
  bool put(Tree value) { return add(std::move(value)) != nullptr; }
  bool open(Tree value) {
    if (open_.size() == kMostLevels) {
      why = fmt::format("is MessagePack that is nested more than {} levels deep", kMostLevels);
      return false;
    }
    Tree* at = add(std::move(value));
    if (at != nullptr) open_.push_back(at);
    return at != nullptr;
  }

  std::vector<Tree*> open_;
  string_t key_;
  size_t values_ = 0;
};

}  // namespace

void write_gzip(AtomicFile& out, std::span<const uint8_t> bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  struct End {
    z_stream& of;
    ~End() { deflateEnd(&of); }
  } const end{stream};
  std::vector<uint8_t> piece(size_t(1) << 20);
  size_t given = 0;
  for (int code = Z_OK; code != Z_STREAM_END;) {
    if (stream.avail_in == 0) {
      stream.next_in = const_cast<Bytef*>(bytes.data() + given);
      stream.avail_in = uInt(std::min(size_t(1) << 30, bytes.size() - given));
      given += stream.avail_in;
    }
    stream.next_out = piece.data();
    stream.avail_out = uInt(piece.size());
    code = deflate(&stream, given == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    out.write(piece.data(), piece.size() - stream.avail_out);
  }
}

void write_packed_tree(const std::filesystem::path& file, const Tree& tree) {
  AtomicFile out(file);
  write_gzip(out, Tree::to_msgpack(tree));
  out.commit();
}

Tree read_packed_tree(const std::filesystem::path& file) {
  std::vector<uint8_t> bytes = read_bytes(file, kMostPackedBytes);
  if (file.extension() != ".msgpack") bytes = unpacked(file, bytes);
  TreeBuilder builder;
  if (!Tree::sax_parse(bytes, &builder, Tree::input_format_t::msgpack))
    throw Refused(file, "MessagePack", builder.why, kCopyAgain);
  return std::move(builder.root);
}

}  // namespace klab
