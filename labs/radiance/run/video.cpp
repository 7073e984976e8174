#include "labs/radiance/run/video.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace klab {
namespace {

namespace fs = std::filesystem;

/// Returns the text as one word of the shell.
std::string shell_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Returns a path that ffmpeg does not take for an option, a protocol or a pattern.
std::string plain_path(const fs::path& path) {
  std::string out = path.is_absolute() ? "" : "./";
  for (const char c : path.string()) out += c == '%' ? std::string("%%") : std::string(1, c);
  return "file:" + out;
}

}  // namespace

bool has_ffmpeg() { return std::system("command -v ffmpeg >/dev/null 2>&1") == 0; }

void write_video(const fs::path& folder, const fs::path& file, int frames, double frames_per_second) {
  fs::path unfinished = file;
  unfinished.replace_filename(fmt::format(".{}.unfinished.mp4", file.stem().string()));
  const std::string to = unfinished.is_absolute() ? unfinished.string() : "./" + unfinished.string();
  const std::string command = fmt::format(
      "ffmpeg -nostdin -y -loglevel error -framerate {} -i {} -frames:v {} -pix_fmt yuv420p -movflags "
      "+faststart -vf "
      "'pad=ceil(iw/2)*2:ceil(ih/2)*2' {}",
      frames_per_second, shell_word(plain_path(folder) + "/frame_%04d.png"), frames,
      shell_word("file:" + to));
  std::error_code error;
  if (std::system(command.c_str()) == 0)
    fs::rename(unfinished, file, error);
  else
    error = std::make_error_code(std::errc::io_error);
  if (!error) return;
  fs::remove(unfinished, error);
  throw std::runtime_error(
      fmt::format("{}: ffmpeg made no video (its message is above): the pictures are in {}", file.string(),
                  folder.string()));
}

}  // namespace klab
