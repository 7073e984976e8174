#include "harness/records/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/records/foreign_file.h"

namespace klab {
namespace {

using Json = nlohmann::json;

constexpr int kMostNesting = 64;  // levels; files that klab reads have at most eight

[[noreturn]] void refuse_input(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error(file.string() + ": " + why);
}

/// An open regular file.
class OpenFile {
 public:
  OpenFile(const std::filesystem::path& file, int64_t most) : file_(file) {
    // Opens without blocking, as opening a pipe or a terminal could.
    descriptor_ = open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0)
      refuse_input(file, errno == ENOENT || errno == ENOTDIR ? "no such file"
                         : errno == ELOOP                    ? "is a link that leads back to itself"
                         : errno == EACCES                   ? "cannot be read (check its permissions)"
                                           : std::string("cannot be read: ") + std::strerror(errno));
    struct stat status {};
    const char* wrong = fstat(descriptor_, &status) != 0 ? "cannot be read"
                        : S_ISDIR(status.st_mode)        ? "is a folder; name a file"
                        : !S_ISREG(status.st_mode)       ? "is a pipe or a device; name a regular file"
                                                         : nullptr;
    if (wrong == nullptr && status.st_size <= most) {
      size_ = status.st_size;
      return;
    }
    close(descriptor_);
    refuse_input(file, wrong != nullptr
                           ? wrong
                           : fmt::format("is {:.0f} MB large, and at most {:.0f} MB are expected here",
                                         double(status.st_size) * 1e-6, double(most) * 1e-6));
  }
  ~OpenFile() { close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  size_t size() const { return size_t(size_); }
  void read_all(char* into) const {
    for (size_t done = 0; done < size();) {
      const ssize_t n = read(descriptor_, into + done, size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) refuse_input(file_, "cannot be read to its end");
      done += size_t(n);
    }
  }

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

/// Returns the deepest nesting of brackets outside strings. A recursive parser would overflow its stack.
int nesting_of(std::string_view text) {
  int depth = 0, most = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return most;
}

/// Says why JSON cannot continue at a byte: a comment, a comma too many, another language's word.
std::string json_fault(std::string_view text, size_t at) {
  if (at >= text.size()) return "it ends there, cut short?";
  const char c = text[at];
  const size_t before = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t\r\n", at - 1);
  if (before != std::string_view::npos && text[before] == ',' && (c == '}' || c == ']'))
    return "take out the comma before the closing bracket";
  if (c == '/' || c == '#') return "JSON has no comments, take it out";
  if (c == '\'') return "write texts in double quotes";
  if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
    const auto word = text.substr(at, text.find_first_of(" \t\r\n,:]}", at) - at);
    return fmt::format(
        "'{}' is no value of JSON: texts stand in double quotes, other values are numbers, true, false "
        "and null",
        excerpt(word));
  }
  return fmt::format("found '{}' there, damaged?", excerpt(text.substr(at, 20)));
}

/// Returns "line 3, column 7" of a byte.
std::string place_in_text(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t line = 1 + size_t(std::ranges::count(before, '\n')), end = before.rfind('\n');
  return fmt::format("line {}, column {}", line, end == std::string_view::npos ? at + 1 : at - end);
}

}  // namespace

std::string read_input(const std::filesystem::path& file, int64_t most) {
  const OpenFile in(file, most);
  std::string text(in.size(), '\0');
  in.read_all(text.data());
  return text;
}

std::vector<uint8_t> read_bytes(const std::filesystem::path& file, int64_t most) {
  const OpenFile in(file, most);
  std::vector<uint8_t> bytes(in.size());
  in.read_all(reinterpret_cast<char*>(bytes.data()));
  return bytes;
}

void require_regular_file(const std::filesystem::path& file, int64_t most) { const OpenFile in(file, most); }

Json parse_json(std::string_view text, const std::string& where) {
  if (nesting_of(text) > kMostNesting)
    throw std::runtime_error(fmt::format(
        "{}: is nested more than {} levels deep, which nothing that klab reads is", where, kMostNesting));
  if (const auto foreign = foreign_file(text))
    throw std::runtime_error(
        fmt::format("{}: is {}, where JSON is expected: {}", where, foreign->what, foreign->remedy));
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    const size_t at = e.byte > 0 ? e.byte - 1 : 0;  // it counts what was read
    throw std::runtime_error(
        fmt::format("{}: is not valid JSON at {}: {}", where, place_in_text(text, at), json_fault(text, at)));
  } catch (const Json::out_of_range&) {  // 1e999
    throw std::runtime_error(fmt::format("{}: holds a number too large for anything", where));
  }
}

Json read_json_file(const std::filesystem::path& file, int64_t most) {
  return parse_json(read_input(file, most), file.string());
}

Json path_to_json(const std::filesystem::path& path) {
  const std::string& name = path.native();
  if (as_utf8(name) == name) return name;
  Json bytes = Json::array();
  for (const char c : name) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

std::filesystem::path path_from_json(const Json& value, const std::string& where) {
  std::string name;
  bool good = value.is_string() || value.is_array();
  if (value.is_string()) name = value.get<std::string>();
  if (value.is_array())
    for (const Json& byte : value) {
      good = good && byte.is_number_unsigned() && byte.get<uint64_t>() > 0 && byte.get<uint64_t>() < 256;
      if (good) name += char(byte.get<unsigned>());
    }
  if (!good || name.empty() || name.find('\0') != std::string::npos)
    throw std::runtime_error(where + ": holds no name of a file where one belongs");
  return name;
}

std::string as_utf8(std::string_view text) {
  const std::string quoted = Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

std::string excerpt(std::string_view text) {
  std::string part(text.substr(0, 60));
  for (char& c : part)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  return part + (text.size() > 60 ? "..." : "");
}

}  // namespace klab
