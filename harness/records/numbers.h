// Numbers that come from outside, on a command line or in a file: every one is finite and lies in a range, and the ranges
// stand here. (Those of a training recipe stand in its own list, labs/radiance/field/config.h.)
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace klab {

/// What a number may be, both ends included. Whole numbers up to 2^53 are exact in it.
struct Range {
  double low, high;
};

namespace range {

// Of every command.
inline constexpr Range threads{1, 4096};
inline constexpr Range seed{0, 18446744073709551615.0};  // 64 bits

// Of measuring.
inline constexpr Range rounds{1, 100000};
inline constexpr Range sessions{1, 1000};
inline constexpr Range baseline_sessions{4, 1000};
inline constexpr Range session_number{1, 1e6};
inline constexpr Range minutes{0.01, 1e5};
inline constexpr Range percent{0, 100};
inline constexpr Range extent{0, 1099511627776.0};  // of a shape: 2^40

// Of the learner's path.
inline constexpr Range hints{1, 9};
inline constexpr Range stage_seconds{0.5, 86400};
inline constexpr Range threshold{0, 1e6};  // a speedup; 0: the step's own
inline constexpr Range megabytes{16, 1e9};

// Of training and rendering.
inline constexpr Range seconds{1e-3, 1e8};
inline constexpr Range steps{1, 1e12};
inline constexpr Range checkpoint_seconds{0.1, 1e6};
inline constexpr Range downscale{1, 64};
inline constexpr Range holdout{0, 1e6};
inline constexpr Range frames{1, 100000};
inline constexpr Range view{0, 1e6};
inline constexpr Range side_pixels{8, 8192};
inline constexpr Range elevation{-0.99, 0.99};  // its sine
inline constexpr Range distance{0.05, 100};     // sides of the unit cube
inline constexpr Range degrees{1, 170};
inline constexpr Range log2_table{4, 26};
inline constexpr Range batch{256, 4194304};

// Of learning.
inline constexpr Range epochs{1, 100000};
inline constexpr Range examples_a_step{1, 1048576};
inline constexpr Range examples{1, 1e9};
inline constexpr Range rate{1e-12, 1e3};  // of learning
inline constexpr Range decay{0, 1e3};
inline constexpr Range loss_scale{1e-30, 1e30};
inline constexpr Range steps_of_scale{1, 1e9};
inline constexpr Range clip{0, 1e30};
inline constexpr Range coordinate{-1e30, 1e30};

// Of scenes and models.
inline constexpr Range picture_side{1, 65535};  // pixels
inline constexpr Range angle{1e-3, 3.1};        // field of view, radians
inline constexpr Range focal_sides{1e-2, 1e4};  // focal length over the picture's side
inline constexpr Range center_sides{-2, 3};     // principal point over the picture's side
inline constexpr Range radial{-100, 100};       // OpenCV's k1, k2
inline constexpr Range tangential{-1, 1};       // OpenCV's p1, p2
inline constexpr Range pose{-1e6, 1e6};         // elements of a camera's matrix
inline constexpr Range scale{1e-6, 1e6};        // grid units a world unit
inline constexpr Range offset{-1e6, 1e6};       // grid units
inline constexpr Range place{-1e5, 1e5};        // of a camera, grid units
inline constexpr Range aabb_scale{1, 128};
inline constexpr Range cascades{1, 8};
inline constexpr Range near{0, 1e3};

}  // namespace range

/// "from 1 to 4096".
std::string text_of(Range range);

bool within(double value, Range range);  // false for NaN

/// The number that all of a text is, in decimal. Throws std::invalid_argument saying what it must be: "must be a whole number
/// from 1 to 4096, found 'x'". Number is int, int64_t, uint64_t or double.
template <class Number>
Number number_from(std::string_view text, Range range);
extern template int number_from<int>(std::string_view, Range);
extern template int64_t number_from<int64_t>(std::string_view, Range);
extern template uint64_t number_from<uint64_t>(std::string_view, Range);
extern template double number_from<double>(std::string_view, Range);

/// A field of a JSON object as a number. Throws std::runtime_error, "<where>: \"<key>\" must be a number from 0 to 1, found x",
/// when it is missing, no number, not whole where Number is whole, or out of range.
template <class Number>
Number number_in(const nlohmann::json& object, const char* key, Range range, const std::string& where);
extern template int number_in<int>(const nlohmann::json&, const char*, Range, const std::string&);
extern template int64_t number_in<int64_t>(const nlohmann::json&, const char*, Range, const std::string&);
extern template uint64_t number_in<uint64_t>(const nlohmann::json&, const char*, Range, const std::string&);
extern template double number_in<double>(const nlohmann::json&, const char*, Range, const std::string&);

/// The same of a value that is at hand; `name` is what messages call it.
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
