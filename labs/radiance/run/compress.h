// Compresses a trained field: a student in its place, numbers left out, numbers in fewer bits. What it costs is measured.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/program/call_times.h"
#include "labs/radiance/field/codec.h"
#include "labs/radiance/scene/scene.h"

namespace klab {

struct CompressOptions {
  std::filesystem::path model;       // its file
  std::string scene;                 // the one that it was trained on
  std::filesystem::path out;         // the file to write
  double prune = 0;                  // share of each tensor's numbers, smallest first; 0: none
  int64_t retrain = 0;               // steps of training after that, zeros held; 0: none
  std::vector<std::string> student;  // settings that differ from the teacher's; empty: no student
  int64_t steps = 2000;              // of its training
  Storage format = Storage::f32;     // of the file
  std::vector<std::string> keep;     // tensors that stay whole and floats; "auto": by measured loss
  int views = 100000;                // test views to score
  std::string plan = "best";         // "best", "last", "naive" or a file
  bool json = false;                 // print JSON instead of tables
  SceneOptions reading;
};

/// Tensors whose compression alone costs more than this are kept by "auto", dB.
inline constexpr double kSensitive = 0.05;

/// Writes the compressed model and prints bytes, PSNR and pictures a second of each stage. Returns the exit code: 0, or 130 after an
/// interruption, with nothing written. Throws std::invalid_argument and std::runtime_error that name option or file, for what a
/// field does not have too, before the scene is read.
int compress_field(CompressOptions options, CallTimes& times);

}  // namespace klab
