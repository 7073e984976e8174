// An input that a reader refuses: the message names the file, the field and the remedy.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace klab {

/// Thrown by readers of files that people bring. `why` is a sentence about the file that names the field; the
/// message is "<file>: <why>: <remedy>".
class Refused : public std::runtime_error {
 public:
  Refused(const std::filesystem::path& file, std::string field, const std::string& why, std::string remedy)
      : std::runtime_error(fmt::format("{}: {}: {}", file.string(), why, remedy)),
        file_(file),
        field_(std::move(field)),
        remedy_(std::move(remedy)) {}

  const std::filesystem::path& file() const { return file_; }
  const std::string& field() const { return field_; }
  const std::string& remedy() const { return remedy_; }

  /// Returns whether a message that names all three was given.
  bool complete() const {
    const std::string message = what();
    return !field_.empty() && !remedy_.empty() && !file_.empty() &&
           message.find(field_) != std::string::npos && message.find(remedy_) != std::string::npos &&
           message.find(file_.filename().string()) != std::string::npos;
  }

 private:
  std::filesystem::path file_;
  std::string field_, remedy_;
};

}  // namespace klab
