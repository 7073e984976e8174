// A video from numbered pictures, by ffmpeg where it is installed.
#pragma once

#include <filesystem>
#include <string>

namespace klab {

bool has_ffmpeg();

/// Makes `file`, whose name ends in .mp4, from that many pictures of a folder, frame_0000.png and on: in ffmpeg's own codec
/// for that ending (H.264 where it has it) and the pixel format that players know, padded to even sides. Written under
/// another name first, then renamed. Throws std::runtime_error, which names the file, if ffmpeg fails.
void write_video(const std::filesystem::path& folder, const std::filesystem::path& file, int frames,
                 double frames_per_second);

}  // namespace klab
