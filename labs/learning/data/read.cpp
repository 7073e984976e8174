// Reads data sets on disk: IDX, CIFAR-10, safetensors.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>

#include "harness/records/tensor_file.h"
#include "labs/learning/data/dataset.h"

namespace klab::learning {
namespace {

namespace fs = std::filesystem;

constexpr int32_t kMostClasses = 1 << 16;  // the last layer has a row of weights for each

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

/// Reads the whole file; zlib also reads uncompressed files.
std::vector<uint8_t> read_bytes(const fs::path& file) {
  if (!fs::is_regular_file(file))
    refuse(file, "is no file that can be read; name the folder with the data set");
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
  if (!in) refuse(file, "cannot be opened (check its permissions)");
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> part(1 << 20);
  for (int got = 0; (got = gzread(in.get(), part.data(), unsigned(part.size()))) != 0;) {
    int error = 0;
    if (got < 0) refuse(file, fmt::format("is damaged ({}); fetch it again", gzerror(in.get(), &error)));
    bytes.insert(bytes.end(), part.begin(), part.begin() + got);
  }
  int error = 0;
  gzerror(in.get(), &error);
  if (error == Z_BUF_ERROR) refuse(file, "is cut short inside its compressed data; fetch it again");
  return bytes;
}

/// Reads a big-endian number, as IDX uses.
uint32_t word_at(const std::vector<uint8_t>& b, size_t at) {
  return uint32_t(b[at]) << 24 | uint32_t(b[at + 1]) << 16 | uint32_t(b[at + 2]) << 8 | uint32_t(b[at + 3]);
}

/// Checks header and length of an IDX file of bytes, and returns its dimensions.
std::vector<int64_t> idx_dims(const fs::path& file, const std::vector<uint8_t>& b, uint32_t magic,
                              size_t count) {
  if (b.size() < 4 || word_at(b, 0) != magic)
    refuse(file,
           fmt::format("its magic number is {}, not 0x{:08x} (IDX, unsigned bytes, {} dimension{}); fetch it "
                       "again, or name another folder",
                       b.size() < 4 ? "missing" : fmt::format("0x{:08x}", word_at(b, 0)), magic, count,
                       count == 1 ? "" : "s"));
  const size_t header = 4 + 4 * count;
  if (b.size() < header) refuse(file, "is cut short inside its header; fetch it again");
  std::vector<int64_t> dims;
  double bytes = 1;
  for (size_t i = 0; i < count; ++i) {
    dims.push_back(word_at(b, 4 + 4 * i));
    bytes *= double(dims.back());
  }
  const double there = double(b.size() - header);
  if (there < bytes)
    refuse(file, fmt::format("is cut short: its header says {:.0f} bytes, {:.0f} are there; fetch it again",
                             bytes, there));
  if (there > bytes)
    refuse(file, fmt::format("has {:.0f} bytes behind the {:.0f} that its header says; fetch it again",
                             there - bytes, bytes));
  return dims;
}

void require_labels(const fs::path& file, const std::vector<int32_t>& labels, int64_t classes) {
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      refuse(file,
             fmt::format("label {} of example {} is outside of the classes 0 to {}; fetch the file again, or "
                         "correct the label",
                         labels[i], i, classes - 1));
}

/// Returns the file in the folder whose name begins with `begin` and ends with `end`, with or without .gz.
std::optional<fs::path> file_like(const fs::path& folder, const std::string& begin, const std::string& end) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    std::ranges::replace(name, '.', '-');  // some copies are called t10k-images.idx3-ubyte
    if (entry.is_regular_file() && name.starts_with(begin) && name.ends_with(end))
      found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::optional<Examples> idx_of(const fs::path& folder, const std::string& begin) {
  const auto images = file_like(folder, begin, "images-idx3-ubyte"),
             labels = file_like(folder, begin, "labels-idx1-ubyte");
  if (!images && !labels) return std::nullopt;
  if (!images || !labels)
    refuse(folder, fmt::format("has {} without the {} that belong to it; put both into the folder",
                               (images ? images : labels)->filename().string(),
                               images ? "labels (*labels-idx1-ubyte)" : "images (*images-idx3-ubyte)"));
  return read_idx(*images, *labels);
}

void append(Examples& to, const Examples& more) {
  if (to.count() == 0) {
    to = more;
    return;
  }
  to.values.insert(to.values.end(), more.values.begin(), more.values.end());
  to.labels.insert(to.labels.end(), more.labels.begin(), more.labels.end());
}

/// Splits a set without test examples: the last fifth becomes the test set.
void split(Dataset& set, const Examples& all) {
  const int64_t train = all.count() * 4 / 5;
  set.train = part_of(all, 0, train);
  set.test = part_of(all, train, all.count() - train);
  set.division = fmt::format(
      "one set of {} without a test set of its own: the first {} to learn from, the last {} to test",
      all.count(), train, all.count() - train);
}

Dataset read_folder(const fs::path& folder) {
  Dataset set;
  const auto train = idx_of(folder, "train"), test = idx_of(folder, "t10k");
  const auto any = train || test ? std::nullopt : idx_of(folder, "");
  if (train && test) {
    set.train = *train, set.test = *test;
    set.division =
        fmt::format("as the files divide them: train* has {}, t10k* {}", train->count(), test->count());
  } else if (train || test || any) {
    split(set, train ? *train : test ? *test : *any);
  } else if (fs::exists(folder / "data_batch_1.bin")) {
    for (int i = 1; i <= 5; ++i)
      if (const fs::path file = folder / fmt::format("data_batch_{}.bin", i); fs::exists(file))
        append(set.train, read_cifar10(file));
    if (fs::exists(folder / "test_batch.bin")) {
      set.test = read_cifar10(folder / "test_batch.bin");
      set.division = fmt::format("as the files divide them: data_batch_* have {}, test_batch {}",
                                 set.train.count(), set.test.count());
    } else {
      split(set, Examples(set.train));
    }
  } else {
    refuse(folder,
           "holds no data set: expected *-images-idx3-ubyte and *-labels-idx1-ubyte (MNIST, with or without "
           ".gz), or "
           "data_batch_1.bin (CIFAR-10, binary version)");
  }
  return set;
}

}  // namespace

Examples read_idx(const fs::path& images, const fs::path& labels) {
  const std::vector<uint8_t> x = read_bytes(images), y = read_bytes(labels);
  const std::vector<int64_t> shape = idx_dims(images, x, 0x803, 3), count = idx_dims(labels, y, 0x801, 1);
  if (shape[0] != count[0])
    refuse(labels, fmt::format("has {} labels, and {} has {} images; fetch both from one place", count[0],
                               images.filename().string(), shape[0]));
  Examples e{.dims = {1, shape[1], shape[2]}, .classes = 10, .values = {}, .labels = {}};
  e.values.reserve(x.size() - 16);
  for (size_t i = 16; i < x.size(); ++i) e.values.push_back(float(x[i]) / 255.0F);
  e.labels.assign(y.begin() + 8, y.end());
  require_labels(labels, e.labels, e.classes);
  return e;
}

Examples read_cifar10(const fs::path& file) {
  constexpr size_t record = 1 + 3 * 32 * 32;
  const std::vector<uint8_t> b = read_bytes(file);
  if (b.empty() || b.size() % record != 0)
    refuse(file, fmt::format("has {} bytes, no multiple of {} (a label and 3x32x32 bytes): cut short, or not "
                             "the binary version; fetch it again",
                             b.size(), record));
  Examples e{
      .dims = {3, 32, 32},
      .classes = 10,
      .values = {},
      .labels = {},
      .names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}};
  for (size_t at = 0; at < b.size(); at += record) {
    e.labels.push_back(b[at]);
    for (size_t i = 1; i < record; ++i) e.values.push_back(float(b[at + i]) / 255.0F);
  }
  require_labels(file, e.labels, e.classes);
  return e;
}

Examples read_tensors(const fs::path& file) {
  const TensorFile in(file);
  std::optional<TensorView> x, labels;
  for (const TensorView& t : in.tensors()) {
    if (t.name == "x") x = t;
    if (t.name == "labels") labels = t;
  }
  if (!x || !labels)
    refuse(file, fmt::format("has no tensor \"{}\": x [n,...] F32 and labels [n] I32 are expected",
                             x ? "labels" : "x"));
  if (x->dtype != "F32" || x->shape.size() < 2)
    refuse(file, "tensor \"x\" must be F32 and have dimensions [n,...]");
  if (labels->dtype != "I32" || labels->shape != std::vector<int64_t>{x->shape[0]})
    refuse(file, fmt::format("tensor \"labels\" must be I32 [{}]", x->shape[0]));
  Examples e{.dims = {x->shape.begin() + 1, x->shape.end()}, .classes = 0, .values = {}, .labels = {}};
  e.values.resize(size_t(volume(x->shape)));
  e.labels.resize(size_t(x->shape[0]));
  // Not by read(), whose error would not name the example with the invalid number.
  std::memcpy(e.values.data(), x->data, e.values.size() * sizeof(float));
  in.read("labels", "I32", labels->shape, e.labels.data());
  for (size_t i = 0; i < e.values.size(); ++i)
    if (!std::isfinite(e.values[i]))
      refuse(file, fmt::format("tensor \"x\" holds {} in example {}: every number must be finite",
                               e.values[i], int64_t(i) / volume(e.dims)));
  for (size_t i = 0; i < e.labels.size(); ++i) {
    if (e.labels[i] >= kMostClasses)
      refuse(file,
             fmt::format("tensor \"labels\": label {} of example {}; at most {} classes, numbered from 0",
                         e.labels[i], i, kMostClasses));
    e.classes = std::max<int64_t>(e.classes, e.labels[i] + 1);
  }
  require_labels(file, e.labels, std::max<int64_t>(e.classes, 1));
  return e;
}

Examples part_of(const Examples& all, int64_t begin, int64_t count) {
  Examples part{.dims = all.dims, .classes = all.classes, .values = {}, .labels = {}, .names = all.names};
  const int64_t size = volume(all.dims);
  part.values.assign(all.values.begin() + begin * size, all.values.begin() + (begin + count) * size);
  part.labels.assign(all.labels.begin() + begin, all.labels.begin() + begin + count);
  return part;
}

Dataset load_dataset(const std::string& where, uint64_t seed, int64_t most_train, int64_t most_test) {
  constexpr const char* kDrawn = "drawn apart from one another, by two seeds";
  Dataset set;
  if (where == "spirals") {
    set = {where, make_spirals(3000, seed), make_spirals(1000, seed + 1), kDrawn};
  } else if (where == "glyphs") {
    set = {where, make_glyphs(6000, seed), make_glyphs(2000, seed + 1), kDrawn};
  } else if (fs::is_directory(where)) {
    set = read_folder(where);
  } else if (where.ends_with(".safetensors")) {
    split(set, read_tensors(where));
  } else {
    throw std::runtime_error(where +
                             ": is no folder, no .safetensors file and no built-in set (spirals, glyphs)");
  }
  fs::path path = fs::path(where).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  set.name = path.filename().string();
  if (set.train.dims != set.test.dims)
    throw std::runtime_error(
        where + ": images of the training set and of the test set differ in size; take both from one set");
  const int64_t train = set.train.count(), test = set.test.count();
  if (most_train > 0) set.train = part_of(set.train, 0, std::min(most_train, set.train.count()));
  if (most_test > 0) set.test = part_of(set.test, 0, std::min(most_test, set.test.count()));
  if (set.train.count() < train)
    set.division += fmt::format("; kept to learn from: the first {}", set.train.count());
  if (set.test.count() < test) set.division += fmt::format("; kept to test: the first {}", set.test.count());
  if (set.train.count() == 0 || set.test.count() == 0)
    throw std::runtime_error(where + ": holds no examples to learn from");
  return set;
}

}  // namespace klab::learning
