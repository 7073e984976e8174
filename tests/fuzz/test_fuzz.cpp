// Every reader gets broken inputs, some hundred here and KLAB_FUZZ of them elsewhere (the test preset "fuzz":
// 10,000), under AddressSanitizer too. It may accept one or refuse it with a message; nothing else: no crash,
// no endless loop, no other exception, no memory by the gigabyte. Accepted inputs are sound: finite, in
// range.
// ctest: sanitized
#include "harness/core/registry.h"
#include "harness/program/plan.h"
#include "harness/records/export_file.h"
#include "harness/records/gpu_record.h"
#include "harness/records/input.h"
#include "harness/records/ncu_csv.h"
#include "harness/records/recorded_counts.h"
#include "harness/records/rows.h"
#include "harness/records/session.h"
#include "harness/report/camera_plot.h"
#include "harness/simt/compiled_code.h"
#include "labs/radiance/field/frequency.h"
#include "labs/radiance/field/model.h"
#include "labs/radiance/field/packed_tree.h"
#include "labs/radiance/field/snapshot.h"
#include "labs/radiance/field/stored.h"
#include "labs/radiance/field/voxels.h"
#include "labs/radiance/run/metrics.h"
#include "labs/radiance/run/state.h"
#include "labs/radiance/scene/scene.h"
#include "labs/radiance/splat/gaussian_model.h"
#include "labs/radiance/splat/ply.h"
#include "tests/fuzz/fuzz_fixture.h"
#include "tests/fuzz/mutate.h"
#include "tests/records/rows_fixture.h"

namespace klab {
namespace {

Config tiny() {
  Config c;
  c.levels = 2;
  c.log2_table = 4;
  c.base_resolution = 2;
  c.finest_resolution = 8;
  c.width = 8;
  c.grid = 8;
  return c;
}

TEST_F(Fuzz, Models) {
  Model model(tiny(), {.cascades = 2, .scale = 0.3F, .offset = {0.5F, 0.5F, 0.5F}, .near = 0.1F});
  model.initialize(1);
  model.save(folder / "model.safetensors");
  const std::string file = read(folder / "model.safetensors");
  broken_inputs([&](Mutator& m) {
    const Model read = Model::load(write("x.safetensors", m.safetensors(file)));
    for (const Part part : kParts)
      for (const float v : read.of(part)) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, SnapshotsOfInstantNgp) {
  Model model(tiny(), {});
  model.initialize(1);
  save_snapshot(folder / "whole.ingp", model, {});
  json document = read_packed_tree(folder / "whole.ingp");
  document["snapshot"]["density_grid_binary"] =
      json::binary({});  // that of a field that was not trained: small
  write_packed_tree(folder / "whole.ingp", document);
  const std::string file = read(folder / "whole.ingp");
  const std::vector<uint8_t> plain = json::to_msgpack(document);
  broken_inputs([&](Mutator& m) {
    const size_t kind = m.below(4);
    if (kind == 0)
      write("x.ingp", m.bytes(file));
    else if (kind == 1)
      write("x.msgpack", m.bytes({plain.begin(), plain.end()}));
    else
      write_packed_tree(folder / "x.ingp", m.tree(document));
    const Model read = load_snapshot(folder / (kind == 1 ? "x.msgpack" : "x.ingp"));
    for (const Part part : kParts)
      for (const float v : read.of(part)) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, ModelsInFewerBits) {
  Model model(tiny(), {.cascades = 2, .scale = 0.3F, .offset = {0.5F, 0.5F, 0.5F}, .near = 0.1F});
  model.initialize(1);
  std::vector<std::string> files;
  for (const Storage storage : kStorages) {
    if (storage == Storage::f32) continue;
    save_stored(model, storage, folder / "model.safetensors");
    files.push_back(read(folder / "model.safetensors"));
  }
  broken_inputs([&](Mutator& m) {
    const Model read = Model::load(write("x.safetensors", m.safetensors(files[m.below(files.size())])));
    for (const Part part : kParts)
      for (const float v : read.of(part)) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, AdaptiveModels) {
  Config config = tiny();
  config.log2_table = 10;
  config.finest_resolution = 32;
  config.table = "adaptive";
  Model model(config, {});
  model.initialize(1);
  model.save(folder / "model.safetensors");
  const std::string file = read(folder / "model.safetensors");
  broken_inputs([&](Mutator& m) {
    const Model read = Model::load(write("x.safetensors", m.safetensors(file)));
    ASSERT_LE(read.entries_in_use(), read.table_entries());
    for (const int64_t size : read.sizes) ASSERT_TRUE(size >= 8 && size % 8 == 0);
  });
}

TEST_F(Fuzz, Voxels) {
  VoxelConfig config;
  config.first_grid = config.grid = 8;
  config.sh_degree = 1;
  const VoxelModel model =
      VoxelModel::at_first(config, {.scale = 0.3F, .offset = {0.5F, 0.5F, 0.5F}, .near = 0.1F});
  model.save(folder / "model.safetensors");
  const std::string file = read(folder / "model.safetensors");
  broken_inputs([&](Mutator& m) {
    const VoxelModel read = VoxelModel::load(write("x.safetensors", m.safetensors(file)));
    for (const int32_t link : read.links) ASSERT_TRUE(link >= -1 && link < read.rows());
    for (const float v : read.density) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, FrequencyFields) {
  FrequencyConfig config;
  config.octaves = config.direction_octaves = 1;
  config.width = 8;
  config.depth = 2;
  FrequencyModel model(config, {});
  model.initialize(1);
  model.save(folder / "model.safetensors");
  const std::string file = read(folder / "model.safetensors");
  broken_inputs([&](Mutator& m) {
    const FrequencyModel read = FrequencyModel::load(write("x.safetensors", m.safetensors(file)));
    for (const float v : read.parameters[1]) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, GaussianModels) {
  const GaussianModel model{{}, {}, random_gaussians(20, 1, 3)};
  model.save(folder / "model.safetensors");
  const std::string file = read(folder / "model.safetensors");
  broken_inputs([&](Mutator& m) {
    const GaussianModel read = GaussianModel::load(write("x.safetensors", m.safetensors(file)));
    for (const float v : read.set.position) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, Disassembly) {
  const std::string file =
      "//--------------------- .text._Z1kPf "
      "--------------------------\n\t.section\t.text._Z1kPf\n_Z1kPf:\n.L_x_0:\n"
      "\t//## File \"k.cu\", line 3 inlined at \"a.cu\", line 5\n\t//## File \"a.cu\", "
      "line 5\n"
      "        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;\n"
      "        /*0020*/                   LDS.64 R4, [R2] ;\n        /*0030*/              @P0 BRA `(.L_x_0) "
      ";\n"
      "//--------------------- .nv.info --------------------------\n";
  broken_inputs([&](Mutator& m) {
    const simt::CompiledCode code = simt::read_disassembly(m.bytes(file), "x");
    for (const simt::CompiledKernel& k : code.kernels)
      for (const simt::CompiledAccess& a : k.accesses) ASSERT_TRUE(a.instructions > 0 && a.bytes > 0);
  });
}

TEST_F(Fuzz, Checkpoints) {
  Model model(tiny(), {});
  model.initialize(1);
  RunState state;
  state.scene = "/somewhere/\xFF/else";
  state.plan = {{"adam", "adam.cpu.01_naive"}};
  state.views = {3, 1, 16, 12};
  state.precision = "f16";
  auto metadata = model.metadata();
  metadata.merge(to_metadata(state));
  metadata["trainer"] = json{{"step", 7}, {"seed", 1}, {"rays", 64}, {"averaged", 0.5}}.dump();
  save_tensors(folder / "checkpoint.safetensors", model.tensors(), metadata);
  const std::string file = read(folder / "checkpoint.safetensors");
  broken_inputs([&](Mutator& m) {
    const TensorFile checkpoint(write("x.safetensors", m.safetensors(file)));
    config_from_json(checkpoint.metadata("config"), "config");
    const RunState s = run_state_in(checkpoint);
    ASSERT_TRUE(std::isfinite(s.seconds) && std::isfinite(s.samples) && s.downscale >= 1);
    Model into(tiny(), {});
    read_model(checkpoint, into);
  });
}

TEST_F(Fuzz, Configs) {
  const json document = json::parse(config_to_json(Config()));
  broken_inputs([&](Mutator& m) {
    const Config c = read_config(write("config.json", m.json(document)));
    Config::fields(const_cast<Config&>(c), [](const char* name, auto& value, auto&&...) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>)
        ASSERT_TRUE(std::isfinite(value)) << name;
    });
  });
}

TEST_F(Fuzz, Plans) {
  const json document = {
      {"adam", "adam.cpu.01_naive"}, {"sh_fwd", "sh_fwd.cpu.01_naive"}, {"composite_loss_bwd", nullptr}};
  broken_inputs([&](Mutator& m) { plan_ids(write("plan.json", m.json(document)).string(), {}); });
}

TEST_F(Fuzz, Exports) {
  json document = {{"klab_export", kExportVersion},
                   {"name", "Ada"},
                   {"machine", {{"fingerprint", "0123"}}},
                   {"files", {{"01_vector_add/02.cpp", "int x;\n"}, {"03_transpose/03.cu", "int y;\n"}}},
                   {"progress", {{"steps", json::object()}}}};
  document["digest"] = digest_of_export(document);
  ASSERT_TRUE(read_export(document.dump(), "whole").intact);
  broken_inputs([&](Mutator& m) {
    const std::string text = m.json(document);
    const ExportFile e = read_export(text, "x.json");
    // A document accepted as intact is the original.
    if (e.intact) ASSERT_EQ(json::parse(text)["files"], document["files"]);
  });
}

TEST_F(Fuzz, Rows) {
  const std::string text = to_csv(sample_run());
  broken_inputs([&](Mutator& m) {
    const Recording run = read_csv(write("rows.csv", m.table(text)).string(), true);
    for (const Row& row : run.rows)
      for (const double s : row.seconds) ASSERT_TRUE(std::isfinite(s) && s > 0);
  });
}

TEST_F(Fuzz, Metrics) {
  const std::string good =
      "step,seconds,loss,psnr_batch,rays,samples,marched,samples_per_second,occupied,memory\n"
      "1,0.1,0.5,10.25,64,4000,9000,1e5,0.75,1000000\n10,1.25,0.125,,640,4100,9100,2e5,0.5,\n";
  broken_inputs([&](Mutator& m) {
    for (const auto& [name, values] : read_metrics(write("metrics.csv", m.table(good))))
      for (const double v : values) ASSERT_FALSE(std::isinf(v)) << name;
  });
}

TEST_F(Fuzz, Cameras) {
  const json camera = {{"name", "a"},
                       {"position", {1, 2, 0.5}},
                       {"direction", {0, -1, 0}},
                       {"psnr", 20.5},
                       {"picture", "test_0.png"}};
  const json document = {{"box", {{"low", {0, 0, 0}}, {"high", {1, 1, 1}}}},
                         {"train", json::array({camera})},
                         {"test", json::array({camera, camera})}};
  broken_inputs([&](Mutator& m) {
    const auto plot = read_cameras(write("cameras.json", m.json(document)));
    ASSERT_TRUE(plot.has_value());
    for (const CameraPlot::Camera& c : plot->train)
      for (const double v : c.position) ASSERT_TRUE(std::isfinite(v));
    ASSERT_LT(cameras_html(*plot).size(), 100'000U);
  });
}

TEST_F(Fuzz, RecordedCounts) {
  const std::string text =
      "# compiled by GNU 12.2.0; recorded by klab counts --accept\nvariant,shape,place,access,metric,count\n"
      "transpose.cuda.01_naive,rows=64 cols=64,all,,calls,1\n"
      "transpose.cuda.01_naive,rows=64 cols=64,transpose.cuda.01_naive:21,load,sectors,512\n"
      "transpose.cuda.02_tile,rows=64 cols=64,all,,calls,1\n";
  broken_inputs([&](Mutator& m) { read_counts(write("counts.csv", m.table(text)), "transpose"); });
}

TEST_F(Fuzz, CountersOfAGpu) {
  const std::string text =
      "==PROF== Connected\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
      "\"0\",\"copy\",\"l1tex__t_requests.sum\",\"request\",\"1,024\"\n\"0\",\"copy\",\"l1tex__t_sectors."
      "sum\",\"\",\"4096\"\n";
  broken_inputs([&](Mutator& m) {
    for (const auto& [metric, value] : read_ncu(m.table(text), "ncu.csv"))
      ASSERT_TRUE(std::isfinite(value) && value >= 0);
  });
}

TEST_F(Fuzz, RecordsOfAGpu) {
  const std::string kept = "variant,shape,loads,stores\na.cuda.01_x,n=4,1024,\na.cuda.02_y,n=4 k=1,11,2\n";
  ASSERT_EQ(gpu_record_text(read_gpu_record(kept, "kept.csv")), kept);
  broken_inputs([&](Mutator& m) {
    for (const auto& [variant, call] : read_gpu_record(m.table(kept), "kept.csv"))
      for (const auto& [counter, count] : call.counts) ASSERT_TRUE(std::isfinite(count) && count >= 0);
  });
}

TEST_F(Fuzz, PlansOfSessions) {
  const SessionPlan plan{.tasks = {{.op = "matmul",
                                    .shape = {.name = "a", .shape = {4, 4, 4}, .cache = Cache::hot},
                                    .threads = 1,
                                    .variants = {"matmul.cpu.01_naive"}}}};
  const json document = json::parse(to_text(plan));
  broken_inputs([&](Mutator& m) { plan_from_text(m.json(document)); });
}

}  // namespace
}  // namespace klab
