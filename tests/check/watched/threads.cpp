// Threads that are in order, and threads that are not. Compiled with -fsanitize=thread for tests/check/test_thread_races.cpp.
#include <omp.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <thread>
#include <vector>

#define RIGHT(name) extern "C" __attribute__((visibility("default"))) void right_##name()
#define WRONG(name) extern "C" __attribute__((visibility("default"))) void wrong_##name()

namespace {

constexpr int kThreads = 3, kItems = 99;
int data[kItems], other[kItems];
int total = 0;

void touch(int k) { data[k] += k; }

}  // namespace

extern "C" __attribute__((visibility("default"))) int* watched_data() { return data; }

RIGHT(ranges) {
#pragma omp parallel for num_threads(kThreads)
  for (int k = 0; k < kItems; ++k) touch(k);
  for (int k = 0; k < kItems; ++k) total += data[k];
}
RIGHT(dynamic_ranges_one_after_the_other) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < kItems; ++k) touch(k);
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < kItems; ++k) other[k] = data[kItems - 1 - k];
  }
}
WRONG(no_wait_between_loops) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp for schedule(static) nowait
    for (int k = 0; k < kItems; ++k) touch(k);
#pragma omp for schedule(static)
    for (int k = 0; k < kItems; ++k) other[k] = data[kItems - 1 - k];
  }
}
RIGHT(barrier) {
#pragma omp parallel num_threads(kThreads)
  for (int round = 0; round < 4; ++round) {
    data[omp_get_thread_num()] = round;
#pragma omp barrier
    other[omp_get_thread_num()] = data[(omp_get_thread_num() + 1) % kThreads];
#pragma omp barrier
  }
}
WRONG(one_barrier_of_two) {
#pragma omp parallel num_threads(kThreads)
  for (int round = 0; round < 4; ++round) {
    data[omp_get_thread_num()] = round;
#pragma omp barrier
    other[omp_get_thread_num()] = data[(omp_get_thread_num() + 1) % kThreads];
  }
}
RIGHT(reduction) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(kThreads)
  for (int k = 0; k < kItems; ++k) sum += data[k];
  total += sum;
}
WRONG(sum_in_one_variable) {
  int sum = 0;
#pragma omp parallel for num_threads(kThreads)
  for (int k = 0; k < kItems; ++k) sum += data[k];
  total += sum;
}
RIGHT(critical) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp critical
    total += 1;
#pragma omp critical(by_name)
    data[0] += 1;
  }
}
WRONG(two_names_of_critical) {
#pragma omp parallel num_threads(kThreads)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp critical(one)
      total += 1;
    } else {
#pragma omp critical(another)
      total += 1;
    }
  }
}
RIGHT(atomic) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp atomic
    total += 1;
  }
}
WRONG(atomic_here_and_plain_there) {
#pragma omp parallel num_threads(kThreads)
  if (omp_get_thread_num() == 0) {
#pragma omp atomic
    total += 1;
  } else if (omp_get_thread_num() == 1) {
    total = 0;
  }
}
RIGHT(single_and_master) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp single
    total = 7;
    data[omp_get_thread_num()] = total;
#pragma omp barrier
#pragma omp master
    total = 8;
#pragma omp barrier
    data[omp_get_thread_num()] = total;
  }
}
WRONG(master_without_a_barrier) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp master
    total = 8;
    data[omp_get_thread_num()] = total;
  }
}
RIGHT(sections) {
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp sections
    {
#pragma omp section
      data[0] = 1;
#pragma omp section
      data[1] = 2;
    }
    other[omp_get_thread_num()] = data[0] + data[1];
  }
}
RIGHT(memory_that_goes_from_thread_to_thread) {
#pragma omp parallel num_threads(kThreads)
  for (int round = 0; round < 200; ++round) {
    std::vector<int> mine(size_t(10 + round), round);
    auto larger = std::make_unique<int[]>(3000);
    larger[size_t(round)] = mine.back();
    other[omp_get_thread_num()] += larger[size_t(round)];
  }
}
RIGHT(static_table) {
#pragma omp parallel num_threads(kThreads)
  {
    static const std::vector<int> table = [] {
      std::vector<int> list(50);
      std::iota(list.begin(), list.end(), 0);
      return list;
    }();
    data[omp_get_thread_num()] = table[size_t(omp_get_thread_num())];
  }
}
RIGHT(neighbors_in_one_word) {
  auto* bytes = reinterpret_cast<char*>(data);
#pragma omp parallel for schedule(static, 1) num_threads(kThreads)
  for (int k = 0; k < kItems; ++k) bytes[k] = char(k);
}
WRONG(bits_in_one_byte) {
  auto* bytes = reinterpret_cast<unsigned char*>(data);
#pragma omp parallel for schedule(static, 1) num_threads(kThreads)
  for (int k = 0; k < kItems; ++k) bytes[k / 8] = (unsigned char)(bytes[k / 8] | (1 << (k % 8)));
}
RIGHT(locks_of_openmp) {
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel num_threads(kThreads)
  {
    omp_set_lock(&lock);
    total += 1;
    omp_unset_lock(&lock);
  }
  omp_destroy_lock(&lock);
}
RIGHT(threads_and_mutex) {
  std::mutex lock;
  std::vector<std::thread> team;
  for (int t = 0; t < kThreads; ++t)
    team.emplace_back([&, t] {
      data[t] = t;
      const std::lock_guard hold(lock);
      total += data[t];
    });
  for (std::thread& t : team) t.join();
  total += data[0] + data[1];
}
WRONG(threads_without_a_lock) {
  std::vector<std::thread> team;
  for (int t = 0; t < kThreads; ++t) team.emplace_back([] { total += 1; });
  for (std::thread& t : team) t.join();
}
// The caller reads `data` behind the call.
WRONG(detached_behind_a_flag) {
  std::atomic<bool> started{false}, ended{false};
  std::thread([&] {
    started = true;
    data[0] = 5;
    ended.store(true, std::memory_order_relaxed);
  }).detach();
  while (!started || !ended.load(std::memory_order_relaxed)) std::this_thread::yield();
}
RIGHT(detached_before_a_flag) {
  static std::atomic<bool> done;
  done = false;
  std::thread([] {
    data[0] = 5;
    done = true;
  }).detach();
  while (!done) std::this_thread::yield();
}
WRONG(read_before_join) {
  std::thread one([] { data[0] = 5; });
  total += data[0];
  one.join();
}
RIGHT(condition_variable) {
  std::mutex lock;
  std::condition_variable ready;
  bool done = false;
  std::thread one([&] {
    data[0] = 5;
    const std::lock_guard hold(lock);
    done = true;
    ready.notify_one();
  });
  {
    std::unique_lock hold(lock);
    ready.wait(hold, [&] { return done; });
    total += data[0];
  }
  one.join();
}
RIGHT(shared_mutex) {
  std::shared_mutex lock;
#pragma omp parallel num_threads(kThreads)
  if (omp_get_thread_num() == 0) {
    const std::unique_lock hold(lock);
    total += 1;
  } else {
    const std::shared_lock hold(lock);
    other[omp_get_thread_num()] = total;
  }
}
RIGHT(future) {
  auto result = std::async(std::launch::async, [] {
    data[0] = 3;
    return 4;
  });
  total = result.get() + data[0];
}
RIGHT(flag_that_releases) {
  std::atomic<int> flag{0};
  std::thread one([&] {
    data[0] = 5;
    flag.store(1, std::memory_order_release);
  });
  while (flag.load(std::memory_order_acquire) == 0) std::this_thread::yield();
  total += data[0];
  one.join();
}
WRONG(flag_that_releases_nothing) {
  std::atomic<int> flag{0};
  std::thread one([&] {
    data[0] = 5;
    flag.store(1, std::memory_order_relaxed);
  });
  while (flag.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
  total += data[0];
  one.join();
}
RIGHT(fences) {
  std::atomic<int> flag{0};
  std::thread one([&] {
    data[0] = 5;
    std::atomic_thread_fence(std::memory_order_release);
    flag.store(1, std::memory_order_relaxed);
  });
  while (flag.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
  std::atomic_thread_fence(std::memory_order_acquire);
  total += data[0];
  one.join();
}
RIGHT(counter_that_the_last_one_reads) {
  std::atomic<int> left{kThreads};
#pragma omp parallel num_threads(kThreads)
  {
    data[omp_get_thread_num()] = 1;
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1)
      for (int t = 0; t < kThreads; ++t) total += data[t];
  }
}
WRONG(counter_without_order) {
  std::atomic<int> left{kThreads};
#pragma omp parallel num_threads(kThreads)
  {
    data[omp_get_thread_num()] = 1;
    if (left.fetch_sub(1, std::memory_order_relaxed) == 1)
      for (int t = 0; t < kThreads; ++t) total += data[t];
  }
}
RIGHT(regions_within_regions) {
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
  {
    const int half = omp_get_thread_num() * 40;
#pragma omp parallel for num_threads(2)
    for (int k = 0; k < 40; ++k) data[half + k] = k;
    for (int k = 0; k < 40; ++k) other[half + k] = data[half + k];
  }
  omp_set_max_active_levels(1);
}
RIGHT(tasks_are_not_judged) {
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  for (int k = 0; k < 5; ++k) {
#pragma omp task firstprivate(k)
    touch(k);
  }
}
WRONG(last_element_of_the_neighbor) {
#pragma omp parallel num_threads(kThreads)
  {
    const int begin = omp_get_thread_num() * 33, end = begin + 33;
    for (int k = begin; k < end; ++k) data[k] = k;
    total = 0 * data[begin];
  }
}
WRONG(copied_through_the_neighbor) {
#pragma omp parallel num_threads(kThreads)
  {
    const int begin = omp_get_thread_num() * 33;
    for (int k = 0; k < 33; ++k) data[(begin + k + 1) % kItems] = data[begin + k];
  }
}

int64_t last_chunk = 0;

// c = a + b. Fewer elements than a chunk has are one thread's, whatever the team's number is.
extern "C" __attribute__((visibility("default"))) void sum_in_chunks(const float* a, const float* b, float* c,
                                                                     int64_t n) {
#pragma omp parallel for schedule(static, 4096) if (n > 1)
  for (int64_t i = 0; i < n; ++i) {
    c[i] = a[i] + b[i];
    if (i % 4096 == 0) last_chunk = i;
  }
}

// The same; half is a thread's, and nothing orders its end before that of the call.
extern "C" __attribute__((visibility("default"))) void sum_detached(const float* a, const float* b, float* c,
                                                                    int64_t n) {
  const bool divided = n >= 4096 && omp_get_max_threads() > 1;
  std::atomic<bool> ended{!divided};
  if (divided)
    std::thread([&] {
      for (int64_t i = n / 2; i < n; ++i) c[i] = a[i] + b[i];
      ended.store(true, std::memory_order_relaxed);
    }).detach();
  for (int64_t i = 0; i < (divided ? n / 2 : n); ++i) c[i] = a[i] + b[i];
  while (!ended.load(std::memory_order_relaxed)) std::this_thread::yield();
}
