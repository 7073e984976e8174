// Numbers from command lines and files. Each must be finite and lie in a range; the ranges are listed here.
// (Those of a training recipe are in labs/radiance/field/config.h.)
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace klab {

/// The allowed values of a number, both ends included. Integers up to 2^53 are represented exactly.
struct Range {
  double low, high;
};

namespace range {

// Used by every command.
inline constexpr Range threads{1, 4096};
inline constexpr Range seed{0, 18446744073709551615.0};  // 64 bits

// Measurements.
inline constexpr Range rounds{1, 100000};
inline constexpr Range sessions{1, 1000};
inline constexpr Range baseline_sessions{4, 1000};
inline constexpr Range session_number{1, 1e6};
inline constexpr Range minutes{0.01, 1e5};
inline constexpr Range percent{0, 100};
inline constexpr Range extent{0, 1099511627776.0};  // of a shape: at most 2^40

// The learner's path.
inline constexpr Range hints{1, 9};
inline constexpr Range stage_seconds{0.5, 86400};
inline constexpr Range threshold{0, 1e6};  // a speedup; 0: the step's own
inline constexpr Range megabytes{16, 1e9};

// Training and rendering.
inline constexpr Range seconds{1e-3, 1e8};
inline constexpr Range steps{1, 1e12};
inline constexpr Range checkpoint_seconds{0.1, 1e6};
inline constexpr Range downscale{1, 64};
inline constexpr Range holdout{0, 1e6};
inline constexpr Range frames{1, 100000};
inline constexpr Range view{0, 1e6};
inline constexpr Range side_pixels{8, 8192};
inline constexpr Range elevation{-0.99, 0.99};  // as its sine
inline constexpr Range distance{0.05, 100};     // in sides of the unit cube
inline constexpr Range degrees{1, 170};
inline constexpr Range log2_table{4, 26};
inline constexpr Range batch{256, 4194304};

// Learning experiments.
inline constexpr Range epochs{1, 100000};
inline constexpr Range examples_a_step{1, 1048576};
inline constexpr Range examples{1, 1e9};
inline constexpr Range rate{1e-12, 1e3};  // learning rate
inline constexpr Range decay{0, 1e3};
inline constexpr Range loss_scale{1e-30, 1e30};
inline constexpr Range steps_of_scale{1, 1e9};
inline constexpr Range clip{0, 1e30};
inline constexpr Range coordinate{-1e30, 1e30};

// Scenes and models.
inline constexpr Range picture_side{1, 65535};  // pixels
inline constexpr Range angle{1e-3, 3.1};        // field of view, radians
inline constexpr Range focal_sides{1e-2, 1e4};  // focal length over the picture's side
inline constexpr Range center_sides{-2, 3};     // principal point over the picture's side
inline constexpr Range radial{-100, 100};       // OpenCV's k1, k2
inline constexpr Range tangential{-1, 1};       // OpenCV's p1, p2
inline constexpr Range pose{-1e6, 1e6};         // elements of a camera's matrix
inline constexpr Range scale{1e-6, 1e6};        // grid units per world unit
inline constexpr Range offset{-1e6, 1e6};       // grid units
inline constexpr Range place{-1e5, 1e5};        // position of a camera, in grid units
inline constexpr Range aabb_scale{1, 128};
inline constexpr Range cascades{1, 8};
inline constexpr Range near{0, 1e3};

}  // namespace range

/// Formats a range: "from 1 to 4096".
std::string text_of(Range range);

bool within(double value, Range range);  // false for NaN

/// Parses a decimal number that is the whole text. Throws std::invalid_argument that states the requirement:
/// "must be a whole number from 1 to 4096, found 'x'". Number is int, int64_t, uint64_t or double.
template <class Number>
Number number_from(std::string_view text, Range range);
extern template int number_from<int>(std::string_view, Range);
extern template int64_t number_from<int64_t>(std::string_view, Range);
extern template uint64_t number_from<uint64_t>(std::string_view, Range);
extern template double number_from<double>(std::string_view, Range);

/// Reads a field of a JSON object as a number. Throws std::runtime_error, "<where>: \"<key>\" must be a
/// number from 0 to 1, found x", if it is missing, not a number, not whole for an integer type, or out of
/// range.
template <class Number>
Number number_in(const nlohmann::json& object, const char* key, Range range, const std::string& where);
extern template int number_in<int>(const nlohmann::json&, const char*, Range, const std::string&);
extern template int64_t number_in<int64_t>(const nlohmann::json&, const char*, Range, const std::string&);
extern template uint64_t number_in<uint64_t>(const nlohmann::json&, const char*, Range, const std::string&);
extern template double number_in<double>(const nlohmann::json&, const char*, Range, const std::string&);

/// Does the same for a given value; `name` is its name in messages.
template <class Number>
Number number_of(const nlohmann::json& value, const std::string& name, Range range, const std::string& where);
extern template int number_of<int>(const nlohmann::json&, const std::string&, Range, const std::string&);
extern template int64_t number_of<int64_t>(const nlohmann::json&, const std::string&, Range,
                                           const std::string&);
extern template uint64_t number_of<uint64_t>(const nlohmann::json&, const std::string&, Range,
                                             const std::string&);
extern template double number_of<double>(const nlohmann::json&, const std::string&, Range,
                                         const std::string&);

}  // namespace klab
