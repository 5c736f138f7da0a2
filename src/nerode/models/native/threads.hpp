// Independent units of work spread over threads. A unit never shares an output with another one and is
// computed by the same instructions on any thread, so results do not depend on the number of threads.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

// The thread pool of torch, where torch is loaded: its threads wait for work in a loop, and threads besides
// them would have to share their cores with that loop.
extern "C" {
void GOMP_parallel(void (*)(void*), void*, unsigned, unsigned) __attribute__((weak));
int omp_get_thread_num() __attribute__((weak));
int omp_get_num_threads() __attribute__((weak));
}

namespace nerode {

constexpr int OK = 0;
constexpr int OUT_OF_MEMORY = 1;

// The process that loaded the library. A copy of it made by fork has the pool's memory and none of its threads.
inline const pid_t loaded_by = getpid();

// Calls work(number, count) on each of at most `threads` threads, `count` being how many there are.
inline void run_threads(int64_t threads, const std::function<void(int64_t, int64_t)>& work) {
  if (threads == 1) return work(0, 1);
  if (GOMP_parallel && omp_get_thread_num && omp_get_num_threads && getpid() == loaded_by) {
    const auto enter = [](void* given) {
      (*static_cast<const std::function<void(int64_t, int64_t)>*>(given))(omp_get_thread_num(),
                                                                           omp_get_num_threads());
    };
    GOMP_parallel(enter, const_cast<void*>(static_cast<const void*>(&work)), static_cast<unsigned>(threads), 0);
    return;
  }
  std::vector<std::thread> others;
  int64_t started = 1;
  try {
    others.reserve(threads);
    for (; started < threads; ++started) others.emplace_back(work, started, threads);
  } catch (const std::system_error&) {
    // No more threads to be had: this one does what is left.
  } catch (const std::bad_alloc&) {
  }
  work(0, threads);
  for (int64_t number = started; number < threads; ++number) work(number, threads);
  for (auto& thread : others) thread.join();
}

// Calls work(unit) for each unit; `effort` is the total number of elementary steps.
// The type of `work` is erased so that each kernel is compiled once, not once for each way to call it.
inline int run_units(int64_t units, int64_t threads, int64_t effort, const std::function<void(int64_t)>& work) {
  // Waking a thread costs as much as about this many steps.
  constexpr int64_t worth_a_thread = 1 << 16;
  threads = std::max<int64_t>(1, std::min({threads, units, effort / worth_a_thread}));
  std::atomic<int> outcome{OK};
  run_threads(threads, [&](int64_t number, int64_t count) {
    try {
      for (int64_t unit = units * number / count; unit < units * (number + 1) / count; ++unit) work(unit);
    } catch (const std::bad_alloc&) {
      outcome = OUT_OF_MEMORY;
    }
  });
  return outcome;
}

// The outcome of work that allocates before its units begin.
template <class Work>
int within_memory(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return OUT_OF_MEMORY;
  }
}

}  // namespace nerode
