// The vertices of a .ply file in any of its three forms, one after the other.
#pragma once

#include <functional>
#include <span>

#include "labs/radiance/scene/ply_header.h"

namespace klab {

/// Calls `each` with the number of a vertex and the numbers of its properties, in the header's order; for a list
/// that is its length. Passes over the elements before the vertices, and ignores those behind. Throws Refused if the
/// file ends too early or a word is no number.
void for_each_vertex(const std::filesystem::path& file, const std::vector<uint8_t>& bytes,
                     const PlyHeader& header,
                     const std::function<void(int64_t, std::span<const double>)>& each);

}  // namespace klab
