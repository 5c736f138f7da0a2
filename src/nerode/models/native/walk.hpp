// Runs of a table automaton. `table` is (states, letters) and holds the next state already multiplied by the
// number of letters, so that one step is one addition and one load.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace nerode {

// Returns the state (multiplied likewise) after the letters, or -1 - position of a letter that is not one.
// `visited`, unless null, receives the state after each letter.
template <class State, class Letter>
int64_t walk(const State* table, int64_t letters, int64_t start, const Letter* word, int64_t length,
             State* visited) {
  // A letter too large would read outside the table: look at a block of letters before walking it.
  constexpr int64_t block = 4096;
  const Letter last = static_cast<Letter>(std::min<uint64_t>(letters - 1, std::numeric_limits<Letter>::max()));
  uint64_t state = static_cast<uint64_t>(start);
  for (int64_t first = 0; first < length; first += block) {
    const int64_t end = first + block < length ? first + block : length;
    bool wrong = false;
    for (int64_t i = first; i < end; ++i) wrong |= word[i] > last;
    if (wrong) {
      int64_t i = first;
      while (word[i] <= last) ++i;
      return -1 - i;
    }
    if (visited) {
      for (int64_t i = first; i < end; ++i) visited[i] = static_cast<State>(state = table[state + word[i]]);
    } else {
      for (int64_t i = first; i < end; ++i) state = table[state + word[i]];
    }
  }
  return static_cast<int64_t>(state);
}

}  // namespace nerode
