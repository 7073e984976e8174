// The part of baked_rays.cpu.02_skip_by_distance that its later rungs take over as it is.

/// Finds candidates in filled cells, from the front.
class Search {
 public:
  Search() = default;
  Search(const BakedRays::Args<float>& x, const BakedRays::Path& path)
      : distance_(x.distance), grid_(x.shape.grid) {
    float fastest = 0, farthest = 0;
    for (int axis = 0; axis < 3; ++axis) {
      fastest = std::max(fastest, std::abs(path.line.v[axis]));
      farthest =
          std::max(farthest, std::abs(path.line.u[axis]) + path.line.leave * std::abs(path.line.v[axis]));
    }
    a_cell_ = 0.999F / (path.step * fastest);
    // Both ends of a jump are rounded: product and sum of a place, and the distance in it.
    unsure_ = 8 * 0x1p-23F * farthest;
  }

  /// Advances k to the next candidate in a filled cell and places it. Returns false if there is none.
  bool next(const BakedRays::Path& path, int64_t& k, BakedRays::Place& at) const {
    for (float t = path.t(k); t < path.line.leave; t = path.t(k)) {
      at = BakedRays::place(path, t);
      const int away = distance_[at.index(grid_)];
      if (away == 0) return true;
      // Candidates less than away - 1 cells ahead lie in empty cells.
      k += 1 + std::max(int64_t{0}, int64_t((float(away - 1) - unsure_) * a_cell_));
    }
    return false;
  }

 private:
  const uint8_t* distance_ = nullptr;
  int64_t grid_ = 0;
  float a_cell_ = 0;  // candidates in the length of a cell, rounded down
  float unsure_ = 0;  // cells
};
