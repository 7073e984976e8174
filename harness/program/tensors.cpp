#include "harness/program/tensors.h"

#include <algorithm>
#include <stdexcept>

namespace klab {

int64_t Count::now() const { return memory_ == nullptr ? most() : memory_->now(*this); }

int64_t Count::usual() const {
  return factor_ * (memory_ == nullptr ? most_ : std::min(most_, memory_->sizes_[size_].usual));
}

Count Count::part(int64_t begin, int64_t most) const {
  if (is_fixed()) return std::clamp(this->most() - begin, int64_t{0}, most);
  Count slice = *this;
  slice.begin_ = begin;
  slice.most_ = most;
  slice.is_part_ = true;
  return slice;
}

Count Count::times(int64_t factor) const {
  Count multiple = *this;
  multiple.factor_ *= factor;
  return multiple;
}

void* TensorPlace::address() const { return memory == nullptr ? nullptr : memory->address(*this); }

Memory::~Memory() {
  for (const Tensor& t : tensors_)
    if (t.address != nullptr && t.address != t.mirror) backend_.free(t.address, size_t(t.bytes()));
}

Count Memory::declared(Size size) {
  Count count(size.most);
  count.memory_ = this;
  count.size_ = sizes_.size();
  sizes_.push_back(std::move(size));
  return count;
}

Count Memory::extent(const std::string& name, int64_t most, int64_t usual) {
  return declared({.name = name, .kind = Size::Kind::extent, .most = most, .usual = usual});
}

Count Memory::choice(const std::string& name) {
  return declared({.name = name, .kind = Size::Kind::choice, .most = 1, .usual = 0});
}

Count Memory::count(const std::string& name, const Handle<int32_t>& tensor, const Count& index, int64_t most,
                    int64_t usual) {
  return declared({.name = name,
                   .kind = Size::Kind::count,
                   .most = most,
                   .usual = usual,
                   .tensor = tensor,
                   .index = index});
}

int64_t Memory::now(const Count& count) const {
  const Size& size = sizes_[count.size_];
  if (!allocated_) return count.usual();
  if (size.kind == Size::Kind::choice) return size.value;
  if (!backend_.exact) return count.most();
  int64_t all = size.value;
  if (size.kind == Size::Kind::count) {
    int32_t written = 0;
    backend_.download(
        &written, tensors_[size_t(size.tensor.tensor)].address + size.index.now() * int64_t(sizeof written),
        sizeof written);
    all = written;
  }
  if (count.is_part_) all = std::clamp(all - count.begin_, int64_t{0}, count.most_);
  return count.factor_ * all;
}

// A tensor that was not allocated has no address, and neither has a place in it.
void* Memory::address(const TensorPlace& place) const {
  const Tensor& t = tensors_[size_t(place.tensor)];
  if (!allocated_) return const_cast<Tensor*>(&t);
  if (t.address == nullptr) return nullptr;
  const int64_t row = place.row > 0 ? place.row * t.columns.now() * size_of(t.element) : 0;
  return t.address + row + place.bytes;
}

int64_t Memory::bytes() const {
  int64_t sum = 0;
  for (const Tensor& t : tensors_) sum += t.bytes();
  return sum;
}

void Memory::mirror(const TensorPlace& tensor, void* host) {
  tensors_[size_t(tensor.tensor)].mirror = static_cast<char*>(host);
}

void Memory::allocate() { allocate(std::vector<bool>(tensors_.size(), true)); }

void Memory::allocate(const std::vector<bool>& used) {
  if (!backend_.alloc) throw std::logic_error("a memory that only measures is to be allocated");
  size_t i = 0;
  for (Tensor& t : tensors_) {
    if (!used[i++] && t.mirror == nullptr) continue;
    if (backend_.in_host_memory && t.mirror != nullptr)
      t.address = t.mirror;
    else if (const int64_t bytes = t.bytes(); bytes > 0)
      t.address = static_cast<char*>(backend_.alloc(size_t(bytes), t.name));
  }
  allocated_ = true;
}

void Memory::pull(const TensorPlace& tensor) const {
  const Tensor& t = tensors_[size_t(tensor.tensor)];
  if (t.mirror != nullptr && t.bytes() > 0) backend_.download(t.mirror, t.address, size_t(t.bytes()));
}

void Memory::push() {
  for (const Tensor& t : tensors_)
    if (t.mirror != nullptr && t.mirror != t.address) backend_.upload(t.address, t.mirror, size_t(t.bytes()));
}

void Memory::pull() const {
  for (const Tensor& t : tensors_)
    if (t.mirror != nullptr && t.mirror != t.address)
      backend_.download(t.mirror, t.address, size_t(t.bytes()));
}

std::vector<int64_t> Memory::choices() const {
  std::vector<int64_t> values;
  for (const Size& s : sizes_)
    if (s.kind == Size::Kind::choice) values.push_back(s.value);
  return values;
}

void Memory::write(const TensorPlace& to, const void* host, size_t bytes) {
  if (bytes == 0 || to.address() == nullptr) return;  // a tensor that no program uses was not allocated
  if (backend_.stage && bytes <= Backend::kStaged) return backend_.stage(to.address(), host, bytes);
  ++counts_.waits;
  backend_.upload(to.address(), host, bytes);
}

void Memory::read(void* host, const TensorPlace& from, size_t bytes) const {
  if (bytes == 0) return;
  ++counts_.waits;
  backend_.download(host, from.address(), bytes);
}

void Memory::load(const TensorPlace& to, const void* host, size_t bytes) {
  if (bytes == 0) return;
  if (!backend_.load) return write(to, host, bytes);
  counts_.waits += backend_.load(to.address(), host, bytes);
}

void Memory::loaded() {
  if (backend_.loaded) backend_.loaded();
}

void Memory::wait() const {
  ++counts_.waits;
  backend_.wait();
}

}  // namespace klab
