#include "harness/timing/unit_ceilings.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <utility>

#include "harness/core/tile_unit.h"
#include "harness/timing/ceilings.h"
#include "harness/timing/ladder_ceiling.h"
#include "harness/timing/machine.h"
#include "harness/timing/statistics.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace klab {
namespace {

constexpr int64_t kSteps = 256;  // of a loop, per repeat

/// A loop over registers. Returns the operations of that many repeats.
struct UnitLoop {
  double (*run)(int64_t repeats) = nullptr;
  const char* name = "";
  std::string missing;
};

#if defined(__x86_64__)

/// Twelve independent sums of PRODUCT(sum, a, b), as the loops of float's multiply-adds have. Each is hidden from the compiler, to
/// which twelve equal chains would be one. REGISTER: "v" for vectors of AVX-512, "x" for others.
// clang-format off
#define KLAB_TWELVE(STEP, OF) \
  STEP(0, OF) STEP(1, OF) STEP(2, OF) STEP(3, OF) STEP(4, OF) STEP(5, OF) \
  STEP(6, OF) STEP(7, OF) STEP(8, OF) STEP(9, OF) STEP(10, OF) STEP(11, OF)
// clang-format on
#define KLAB_STEP(k, PRODUCT) x##k = PRODUCT(x##k, a, b);
#define KLAB_KEEP(k, REGISTER) asm volatile("" : : REGISTER(x##k));
#define KLAB_TWELVE_SUMS(Vector, ONE, REGISTER, PRODUCT)                                                    \
  Vector x[12];                                                                                             \
  for (auto& v : x) {                                                                                       \
    v = ONE;                                                                                                \
    asm volatile("" : "+" REGISTER(v));                                                                     \
  }                                                                                                         \
  Vector x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5], x6 = x[6], x7 = x[7], x8 = x[8], \
         x9 = x[9], x10 = x[10], x11 = x[11];                                                               \
  for (int64_t i = 0; i < repeats * kSteps; ++i) {                                                          \
    KLAB_TWELVE(KLAB_STEP, PRODUCT)                                                                         \
  }                                                                                                         \
  KLAB_TWELVE(KLAB_KEEP, REGISTER)

__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) double dot_bf16(int64_t repeats) {
  // 1·1 + 1·(-1): sums stay as they are, and none is denormal.
  const auto a = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3F803F80));        // 1, 1
  const auto b = reinterpret_cast<__m512bh>(_mm512_set1_epi32(int(0xBF803F80U)));  // 1, -1
  KLAB_TWELVE_SUMS(__m512, _mm512_set1_ps(1), "v", _mm512_dpbf16_ps)
  return double(repeats * kSteps) * 12 * 16 * 2 * 2;
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) double dot_int8(int64_t repeats) {
  // Sums wrap around, which costs nothing.
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi32(0x01FF02FE);
  KLAB_TWELVE_SUMS(__m512i, _mm512_set1_epi32(1), "v", _mm512_dpbusd_epi32)
  return double(repeats * kSteps) * 12 * 16 * 4 * 2;
}

/// The same of processors without AVX-512.
__attribute__((target("avx2,avxvnni"))) double dot_int8_short(int64_t repeats) {
  const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi32(0x01FF02FE);
  KLAB_TWELVE_SUMS(__m256i, _mm256_set1_epi32(1), "x", _mm256_dpbusd_avx_epi32)
  return double(repeats * kSteps) * 12 * 8 * 4 * 2;
}
#undef KLAB_TWELVE_SUMS
#undef KLAB_KEEP
#undef KLAB_STEP
#undef KLAB_TWELVE

/// Loads tiles 0 to 3 with zeros and 4 to 7 with factors, 16 rows of 64 bytes each, and releases them at its end.
class HeldTiles {
 public:
  HeldTiles() {
    alignas(64) uint8_t config[64] = {1};
    alignas(64) uint32_t factors[16][16];
    for (int t = 0; t < 8; ++t) {
      config[16 + 2 * t] = 64;
      config[48 + t] = 16;
    }
    // As bfloat16s 1 and -1, so that sums stay small; as bytes any numbers.
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < 16; ++c) factors[r][c] = r % 2 == 0 ? 0x3F803F80U : 0xBF80BF80U;
    const int64_t stride = 64;
    asm volatile("ldtilecfg %0" : : "m"(config));
    asm volatile(
        "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"
        "tileloadd (%0,%1,1), %%tmm4\n\ttileloadd (%0,%1,1), %%tmm5\n\t"
        "tileloadd (%0,%1,1), %%tmm6\n\ttileloadd (%0,%1,1), %%tmm7"
        :
        : "r"(&factors[0][0]), "r"(stride)
        : "memory");
  }
  ~HeldTiles() { asm volatile("tilerelease" : : : "memory"); }
  HeldTiles(const HeldTiles&) = delete;
  HeldTiles& operator=(const HeldTiles&) = delete;
};

/// Four independent tiles of sums: 2 x 2 blocks of two left and two right tiles, which stay in registers.
double tiles_bf16(int64_t repeats) {
  const HeldTiles held;
  for (int64_t i = 0; i < repeats * kSteps; ++i)
    asm volatile(
        "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\ttdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
        "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\ttdpbf16ps %%tmm7, %%tmm5, %%tmm3"
        :
        :);
  return double(repeats * kSteps) * 4 * 16 * 16 * 32 * 2;
}

double tiles_int8(int64_t repeats) {
  const HeldTiles held;
  for (int64_t i = 0; i < repeats * kSteps; ++i)
    asm volatile(
        "tdpbssd %%tmm6, %%tmm4, %%tmm0\n\ttdpbssd %%tmm7, %%tmm4, %%tmm1\n\t"
        "tdpbssd %%tmm6, %%tmm5, %%tmm2\n\ttdpbssd %%tmm7, %%tmm5, %%tmm3"
        :
        :);
  return double(repeats * kSteps) * 4 * 16 * 16 * 64 * 2;
}

UnitLoop loop_of(Factors factors, ProductUnit unit) {
  if (unit == ProductUnit::tiles) {
    const TileUnit& tiles = tile_unit();
    if (tiles.state != TileUnit::State::usable) return {.missing = tiles.why};
    if (factors == Factors::bf16)
      return tiles.bf16 ? UnitLoop{tiles_bf16, "TDPBF16PS", ""} : UnitLoop{.missing = "needs AMX-BF16"};
    return tiles.int8 ? UnitLoop{tiles_int8, "TDPBSSD", ""} : UnitLoop{.missing = "needs AMX-INT8"};
  }
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (factors == Factors::bf16)
    return wide && __builtin_cpu_supports("avx512bf16")
               ? UnitLoop{dot_bf16, "VDPBF16PS", ""}
               : UnitLoop{.missing = "needs a processor with AVX-512 BF16"};
  if (wide && __builtin_cpu_supports("avx512vnni")) return {dot_int8, "VPDPBUSD", ""};
  // Clang 14 does not know the name "avxvnni": EAX, bit 4, of leaf 7, subleaf 1 (Intel's manual, volume 2A, CPUID).
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0)
    return {dot_int8_short, "VPDPBUSD of 256 bits", ""};
  return {.missing = "needs a processor with AVX-512 VNNI or AVX-VNNI"};
}

#else

UnitLoop loop_of(Factors, ProductUnit unit) {
  return {.missing = unit == ProductUnit::tiles ? "needs a processor with AMX"
                                                : "needs a processor with AVX-512 BF16 or VNNI"};
}

#endif

double seconds_of(const UnitLoop& loop, int64_t repeats, int threads, double& work) {
  double sum = 0;
  const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  sum += loop.run(repeats);
  work = sum;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Operations per second, the best of several samples of some milliseconds.
double measured_rate(const UnitLoop& loop, int threads) {
  constexpr double kSample = 0.004;
  constexpr int kSamples = 9;
  double work = 0, best = 0, fastest = HUGE_VAL;
  int64_t repeats = 1;
  for (int attempt = 0; attempt < 30; ++attempt) {
    fastest = std::min(fastest, seconds_of(loop, repeats, threads, work) / double(repeats));
    const auto wanted = std::max<int64_t>(1, std::llround(kSample / std::max(fastest, 1e-12)));
    if (attempt >= 2 && wanted <= 2 * repeats) break;
    repeats = std::min(wanted, 16 * repeats);
  }
  for (int i = 0; i < kSamples; ++i) {
    const double seconds = seconds_of(loop, repeats, threads, work);
    best = std::max(best, work / seconds);
  }
  return best;
}

struct Known {
  std::mutex mutex;
  std::vector<UnitCeiling> list;
  bool given = false;
};
Known& known() {
  static Known k;
  return k;
}

/// Returns the rate of float's multiply-adds in each round, times `lanes`. Empty for ladders that do not know it.
std::vector<double> rates_of_vectors(const Ladder& ladder, double lanes) {
  std::vector<double> rates;
  if (ladder.ceiling == name_of(CeilingKind::fma_f32))
    for (const double r : ladder.ceiling_per_second) rates.push_back(r * lanes);
  if (!rates.empty()) return rates;
  for (const Resource& r : ladder.resources)
    if (r.ceiling == name_of(CeilingKind::fma_f32) && r.seconds > 0)
      rates.assign(ladder.ceiling_per_second.size(),
                   ladder.cost.flops / ladder.cost.flops_per_lane / r.seconds * lanes);
  return rates;
}

/// Work of a call in the unit of a ceiling of that name.
double work_of_name(const std::string& ceiling, const Cost& cost) {
  for (const CeilingKind kind : kArithmeticCeilings)
    if (ceiling == name_of(kind)) return work_of(kind, cost);
  return work_of(ceiling.starts_with("gather") ? CeilingKind::gather4 : CeilingKind::copy, cost);
}

/// The bound by the ladder's own ceiling, of ops in float.
Bound plain_bound(const Ladder& ladder, double work) {
  Bound b{.ceiling = ladder.ceiling,
          .per_second = median(ladder.ceiling_per_second),
          .seconds = {},
          .resources = ladder.resources};
  for (const double rate : ladder.ceiling_per_second) b.seconds.push_back(work / rate);
  return b;
}

}  // namespace

std::string name_of(const UnitCeiling& c) {
  return std::string(c.unit == ProductUnit::dot ? "dot" : "tiles") +
         (c.factors == Factors::bf16 ? " bf16" : " int8");
}

bool is_unit_ceiling(const std::string& ceiling) {
  return ceiling == "dot bf16" || ceiling == "dot int8" || ceiling == "tiles bf16" || ceiling == "tiles int8";
}

UnitCeiling unit_ceiling(Factors factors, ProductUnit unit, int threads) {
  Known& k = known();
  const std::lock_guard lock(k.mutex);
  for (const UnitCeiling& c : k.list)
    if (c.factors == factors && c.unit == unit && c.threads == threads) return c;
  UnitCeiling c{.factors = factors, .unit = unit, .threads = threads};
  if (k.given) {
    c.missing = "not measured";
    return c;
  }
  const UnitLoop loop = loop_of(factors, unit);
  c.missing = loop.missing;
  c.method = loop.name;
  if (loop.run != nullptr) c.per_second = measured_rate(loop, threads);
  k.list.push_back(c);
  return c;
}

void raise_unit_ceilings(int threads) {
  Known& k = known();
  const std::lock_guard lock(k.mutex);
  if (k.given) return;
  for (UnitCeiling& c : k.list)
    if (c.threads == threads && c.per_second > 0)
      c.per_second = std::max(c.per_second, measured_rate(loop_of(c.factors, c.unit), threads));
}

std::vector<UnitCeiling> known_unit_ceilings() {
  Known& k = known();
  const std::lock_guard lock(k.mutex);
  return k.list;
}

GivenUnitCeilings::GivenUnitCeilings(std::vector<UnitCeiling> list) {
  const std::lock_guard lock(known().mutex);
  before_ = std::exchange(known().list, std::move(list));
  known().given = true;
}

GivenUnitCeilings::~GivenUnitCeilings() {
  const std::lock_guard lock(known().mutex);
  known().list = std::move(before_);
  known().given = false;
}

bool has_narrow_factors(const Ladder& ladder, const Variant* variant, Factors& factors) {
  const Unit unit = variant != nullptr ? variant->numerics.unit : Unit::f32;
  if (unit == Unit::bf16) {
    factors = Factors::bf16;
    return true;
  }
  const LabOp* op = find_op(ladder.op);
  if (op == nullptr || ladder.cost.flops_per_lane == 1) return false;
  for (const TensorSpec& t : op->op.tensors(ladder.shape.shape)) {
    if (t.role != Role::input || (t.element != Element::bf16 && t.element != Element::i8)) continue;
    factors = t.element == Element::bf16 ? Factors::bf16 : Factors::int8;
    return true;
  }
  return false;
}

Bound bound_of(const Ladder& ladder, const Variant* variant, MayUse may) {
  if (ladder.ceiling.empty() || ladder.ceiling_per_second.empty()) return {};
  const double plain_work = variant != nullptr ? ceiling_work_of(ladder, *variant) : ladder.ceiling_work;
  Factors factors{};
  const double flops = ladder.cost.flops;
  if (!has_narrow_factors(ladder, variant, factors) || flops <= 0) return plain_bound(ladder, plain_work);
  const bool library = may == MayUse::own && variant != nullptr && variant->peer;
  const bool tiles =
      may == MayUse::any || library || (variant != nullptr && variant->id.find("amx") != std::string::npos);
  const UnitCeiling dot = unit_ceiling(factors, ProductUnit::dot, ladder.threads);
  // Where the vectors' instruction of that format is known, other instructions reach float's own rate. Without one the
  // bound is float's times the factors in a lane.
  const double lanes = dot.per_second > 0 ? 1 : factors == Factors::bf16 ? 2 : 4;
  std::vector<double> rates = rates_of_vectors(ladder, lanes);
  if (rates.empty()) return plain_bound(ladder, plain_work);
  const UnitCeiling tile = tiles ? unit_ceiling(factors, ProductUnit::tiles, ladder.threads) : UnitCeiling{};
  const UnitCeiling& best = tile.per_second > dot.per_second ? tile : dot;
  Bound b{.ceiling = name_of(CeilingKind::fma_f32),
          .per_second = median(rates) / lanes,
          .seconds = {},
          .resources = {},
          .known_unit = !library && (may == MayUse::any || !tiles || tile.per_second > 0)};
  // Some processors do both at the same rate: the name must not be another one in every run.
  constexpr double kNearly = 1.25;
  if (best.per_second * kNearly > median(rates)) {
    b.ceiling = name_of(best);
    b.per_second = std::max(best.per_second, median(rates));
    rates.assign(rates.size(), b.per_second);
  }
  double least = flops / median(rates);
  b.resources.push_back({b.ceiling, least});
  for (const double rate : rates) b.seconds.push_back(flops / rate);
  for (const Resource& r : ladder.resources) {
    if (r.ceiling == name_of(CeilingKind::fma_f32)) continue;
    b.resources.push_back(r);
    if (r.seconds <= least) continue;
    least = r.seconds;
    b.ceiling = r.ceiling;
    b.per_second = work_of_name(r.ceiling, ladder.cost) / r.seconds;
    b.seconds.assign(b.seconds.size(), least);
    if (r.ceiling != ladder.ceiling) continue;
    b.per_second = median(ladder.ceiling_per_second);
    for (size_t i = 0; i < b.seconds.size(); ++i)
      b.seconds[i] = ladder.ceiling_work / ladder.ceiling_per_second[i];
  }
  std::ranges::stable_sort(b.resources,
                           [](const Resource& x, const Resource& y) { return x.seconds > y.seconds; });
  return b;
}

}  // namespace klab
