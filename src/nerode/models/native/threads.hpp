// Independent units of work spread over threads. A unit never shares an output with another one and is
// computed by the same instructions on any thread, so results do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace nerode {

constexpr int OK = 0;
constexpr int OUT_OF_MEMORY = 1;

// Calls work(unit) for each unit; `effort` is the total number of elementary steps.
// The type of `work` is erased so that each kernel is compiled once, not once for each way to call it.
inline int run_units(int64_t units, int64_t threads, int64_t effort, const std::function<void(int64_t)>& work) {
  // Starting a thread costs as much as about this many steps.
  constexpr int64_t worth_a_thread = 1 << 16;
  threads = std::max<int64_t>(1, std::min({threads, units, effort / worth_a_thread}));
  std::atomic<int> outcome{OK};
  const auto run = [&](int64_t number) {
    try {
      for (int64_t unit = units * number / threads; unit < units * (number + 1) / threads; ++unit) work(unit);
    } catch (const std::bad_alloc&) {
      outcome = OUT_OF_MEMORY;
    }
  };
  std::vector<std::thread> others;
  int64_t started = 1;
  try {
    others.reserve(threads);
    for (; started < threads; ++started) others.emplace_back(run, started);
  } catch (const std::system_error&) {
    // No more threads to be had: this one does what is left.
  } catch (const std::bad_alloc&) {
  }
  run(0);
  for (int64_t number = started; number < threads; ++number) run(number);
  for (auto& thread : others) thread.join();
  return outcome;
}

}  // namespace nerode
