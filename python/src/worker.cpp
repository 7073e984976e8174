// klab for Python: reads klab's files and renders its models for the package in ../klab, which starts this program.
//
// A request is a line of JSON on standard input, {"do": "rows", "file": "run.csv"}; with "arrays": [n, ...] it is followed by n points of
// three floats for each of them. The reply is a line of JSON on standard output,
// {"value": ..., "arrays": [{"name", "dtype", "shape", "bytes"}]}, and then the arrays' bytes one after the other; or
// {"error": {"message", "file", "field", "remedy"}}. The program ends with its standard input. It is a process of its own because
// klab::radiance is a library for programs: its objects are not made for shared libraries.
#include <klab/radiance.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/records/claim_record.h"
#include "harness/records/input.h"
#include "harness/records/recorded_counts.h"
#include "harness/records/rows.h"
#include "harness/records/tensor_file.h"

namespace {

namespace fs = std::filesystem;
using namespace klab::radiance;
using nlohmann::json;

/// Bytes of an array that a reply carries; they live as long as the reply's owner.
struct Array {
  std::string name, dtype;
  std::vector<int64_t> shape;
  const void* data = nullptr;
  size_t bytes = 0;
};

struct Reply {
  json value = nullptr;
  std::vector<Array> arrays = {};
  std::shared_ptr<const void> owner = nullptr;
};

/// Runs a reader of harness/records, whose messages name file and column. Adds the remedy where they have none; `field` is what
/// concerns a message without a column.
template <class Work>
auto with_remedy(const fs::path& file, const std::string& field, const std::string& remedy, Work&& work) {
  try {
    return work();
  } catch (const std::exception& e) {
    std::string message = e.what(), said = message;
    const size_t named = message.find(file.string());
    if (named == std::string::npos)
      message = file.string() + ": " + message;
    else
      said.erase(named, file.string().size());  // a folder may be called "recorded"
    if (said.find("record") == std::string::npos) message += ": " + remedy;
    const std::string before = "column '";
    const size_t begin = message.find(before), end = message.find('\'', begin + before.size());
    throw Error(message, file,
                begin == std::string::npos
                    ? field
                    : message.substr(begin + before.size(), end - begin - before.size()),
                remedy);
  }
}

/// Returns rows as the CSV of this version: columns that an older file lacks are empty, former names are replaced.
Reply rows(const json& request) {
  const std::string file = request.at("file");
  return with_remedy(file, "rows",
                     "name a CSV that klab bench --out or klab run --out wrote, or record it again", [&] {
                       const klab::Recording run = klab::read_csv(file, request.at("partial"));
                       return Reply{.value = {{"csv", klab::to_csv(run)}, {"complete", run.complete}}};
                     });
}

/// Returns the columns of a file of recorded counts, one entry per count.
Reply counts(const json& request) {
  const fs::path file = request.at("file").get<std::string>();
  return with_remedy(
      file, "counts",
      "name a CSV of reports/recorded/counts, or record it again with klab counts OP --accept", [&] {
        klab::require_regular_file(file);
        const auto all = klab::read_counts(file, file.stem().string());
        if (!all) throw std::runtime_error("there is no such file");
        json columns = {{"variant", json::array()}, {"shape", json::array()},  {"place", json::array()},
                        {"line", json::array()},    {"access", json::array()}, {"metric", json::array()},
                        {"count", json::array()}};
        for (const klab::RungCounts& rung : all->rungs)
          for (const klab::PlaceCounts& place : rung.places)
            for (const auto& [metric, count] : place.counts) {
              columns["variant"].push_back(rung.variant);
              columns["shape"].push_back(rung.shape);
              columns["place"].push_back(place.place);
              columns["line"].push_back(place.line);
              columns["access"].push_back(place.access);
              columns["metric"].push_back(metric);
              columns["count"].push_back(count);
            }
        return Reply{.value = {{"compiler", all->compiler}, {"columns", std::move(columns)}}};
      });
}

/// Returns a record of claims as its JSON; rules, values and verdicts were compared.
Reply claims(const json& request) {
  const fs::path file = request.at("file").get<std::string>();
  return with_remedy(file, "claims", "name a claims.json of reports/recorded", [&] {
    return Reply{.value = json::parse(klab::claim_record_json(klab::read_claim_record(file)))};
  });
}

size_t bytes_of(const klab::TensorView& t) {
  static const std::map<std::string, size_t> width = {{"F64", 8},  {"F32", 4}, {"F16", 2},
                                                      {"BF16", 2}, {"I64", 8}, {"I32", 4},
                                                      {"U32", 4},  {"I8", 1},  {"U8", 1}};
  size_t n = width.at(t.dtype);
  for (const int64_t d : t.shape) n *= size_t(d);
  return n;
}

/// Returns all tensors of a safetensors file and its metadata.
Reply tensors(const json& request) {
  const fs::path file = request.at("file").get<std::string>();
  return with_remedy(file, "model", "name a model.safetensors that klab train or klab classify wrote", [&] {
    const auto whole = std::make_shared<const klab::TensorFile>(file);
    Reply reply{.value = json::object(), .owner = whole};
    for (const char* key : {"klab", "config", "placement", "storage", "floats", "voxels", "gaussians",
                            "model", "data", "example", "classes", "names", "mean", "deviation"})
      if (whole->has_metadata(key)) reply.value[key] = whole->metadata(key);
    for (const klab::TensorView& t : whole->tensors())
      reply.arrays.push_back({t.name, t.dtype, t.shape, t.data, bytes_of(t)});
    return reply;
  });
}

json to_json(const Camera& c) {
  return {{"width", c.width}, {"height", c.height}, {"fx", c.fx}, {"fy", c.fy}, {"cx", c.cx},    {"cy", c.cy},
          {"k1", c.k1},       {"k2", c.k2},         {"p1", c.p1}, {"p2", c.p2}, {"pose", c.pose}};
}

Camera camera_from(const json& j) {
  return {.width = j.at("width"),
          .height = j.at("height"),
          .fx = j.at("fx"),
          .fy = j.at("fy"),
          .cx = j.at("cx"),
          .cy = j.at("cy"),
          .k1 = j.at("k1"),
          .k2 = j.at("k2"),
          .p1 = j.at("p1"),
          .p2 = j.at("p2"),
          .pose = j.at("pose")};
}

Scene scene_from(const json& j) {
  return Scene::load(j.at("scene"), {.downscale = j.at("downscale"), .holdout = j.at("holdout")});
}

using Points = std::vector<Point>;
static_assert(sizeof(Point) == 3 * sizeof(float));

/// Reads the points that follow a request.
Points read_points(size_t count) {
  Points points(count);
  const auto bytes = std::streamsize(count * sizeof(Point));
  if (!std::cin.read(reinterpret_cast<char*>(points.data()), bytes))
    throw std::runtime_error("a request ends before its points");
  return points;
}

/// The model that this process renders.
struct Session {
  std::optional<Renderer> renderer;

  Renderer& opened() {
    if (!renderer) throw std::logic_error("no model was opened");
    return *renderer;
  }

  Reply open(const json& request) {
    const Field field = Field::load(request.at("file").get<std::string>());
    renderer.emplace(field, RendererOptions{.rungs = request.at("rungs"),
                                            .threads = request.at("threads"),
                                            .precision = request.at("precision")});
    return {.value = {{"kind", field.kind()}, {"bytes", renderer->bytes()}}};
  }

  Reply render(const json& request) {
    const auto picture = std::make_shared<const Picture>(opened().render(camera_from(request.at("camera"))));
    const int64_t h = picture->height, w = picture->width;
    Reply reply{.owner = picture};
    const auto add = [&](const char* name, const std::vector<float>& values, std::vector<int64_t> shape) {
      reply.arrays.push_back({name, "F32", std::move(shape), values.data(), values.size() * sizeof(float)});
    };
    add("rgb", picture->rgb, {h, w, 3});
    add("opacity", picture->opacity, {h, w});
    add("depth", picture->depth, {h, w});
    return reply;
  }

  Reply density(const std::vector<Points>& arrays) {
    const auto values = std::make_shared<const std::vector<float>>(opened().density(arrays.at(0)));
    Reply reply{.owner = values};
    reply.arrays.push_back(
        {"density", "F32", {int64_t(values->size())}, values->data(), values->size() * sizeof(float)});
    return reply;
  }

  Reply colors(const std::vector<Points>& arrays) {
    const auto values = std::make_shared<const Points>(opened().colors(arrays.at(0), arrays.at(1)));
    Reply reply{.owner = values};
    reply.arrays.push_back(
        {"colors", "F32", {int64_t(values->size()), 3}, values->data(), values->size() * sizeof(Point)});
    return reply;
  }

  Reply score(const json& request) {
    const Score score = opened().score(scene_from(request));
    json views = json::array();
    for (const ViewScore& view : score.views)
      views.push_back({{"name", view.name}, {"psnr", view.psnr}, {"ssim", view.ssim}});
    return {.value = {{"psnr", score.psnr},
                      {"ssim", score.ssim},
                      {"protocol", score.protocol},
                      {"views", std::move(views)}}};
  }
};

Reply views(const json& request) {
  const Scene scene = scene_from(request);
  const auto list = [](const std::vector<View>& of) {
    json all = json::array();
    for (const View& view : of) all.push_back({{"name", view.name}, {"camera", to_json(view.camera)}});
    return all;
  };
  return {.value = {{"train", list(scene.train_views())},
                    {"test", list(scene.test_views())},
                    {"notes", scene.notes()}}};
}

Reply camera(const json& request) {
  return {.value = to_json(look_at(request.at("eye"), request.at("target"), request.at("width"),
                                   request.at("height"), request.at("field_of_view")))};
}

/// Writes a model of another format as a safetensors file.
Reply convert(const json& request) {
  Field::load(request.at("file").get<std::string>()).save(request.at("to").get<std::string>());
  return {};
}

Reply answer(Session& session, const json& request, const std::vector<Points>& arrays) {
  const std::string what = request.at("do");
  if (what == "rows") return rows(request);
  if (what == "counts") return counts(request);
  if (what == "claims") return claims(request);
  if (what == "tensors") return tensors(request);
  if (what == "convert") return convert(request);
  if (what == "views") return views(request);
  if (what == "camera") return camera(request);
  if (what == "open") return session.open(request);
  if (what == "render") return session.render(request);
  if (what == "density") return session.density(arrays);
  if (what == "colors") return session.colors(arrays);
  if (what == "score") return session.score(request);
  throw std::invalid_argument("unknown request \"" + what + "\"");
}

std::string text_of(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

void write_reply(const Reply& reply) {
  json head = {{"value", reply.value}, {"arrays", json::array()}};
  for (const Array& a : reply.arrays)
    head["arrays"].push_back({{"name", a.name}, {"dtype", a.dtype}, {"shape", a.shape}, {"bytes", a.bytes}});
  std::cout << text_of(head);
  for (const Array& a : reply.arrays)
    std::cout.write(static_cast<const char*>(a.data), std::streamsize(a.bytes));
}

void write_error(const std::string& message, const std::string& file = "", const std::string& field = "",
                 const std::string& remedy = "") {
  std::cout << text_of(
      {{"error", {{"message", message}, {"file", file}, {"field", field}, {"remedy", remedy}}}});
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  Session session;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      const json request = json::parse(line);
      std::vector<Points> arrays;
      if (request.contains("arrays"))
        for (const size_t count : request.at("arrays")) arrays.push_back(read_points(count));
      write_reply(answer(session, request, arrays));
    } catch (const Error& e) {
      write_error(e.what(), e.file().string(), e.field(), e.remedy());
    } catch (const std::exception& e) {
      write_error(e.what());
    }
    std::cout.flush();
  }
  return 0;
}
