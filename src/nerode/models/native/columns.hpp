// A few columns of a matrix state at a time, in vector registers.
//
// Columns of the states here never meet, so a block of them goes through the whole sequence by itself, in a
// copy that is padded to whole vectors. Every entry is the same chain of operations whatever the block.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "matrix_states.hpp"
#include "panels.hpp"
#include "threads.hpp"

namespace nerode {

template <class T>
struct Lanes {
  using Vector __attribute__((vector_size(VECTOR_BYTES))) = T;
  // The same anywhere in memory. Copies of several vectors at once would go through memory twice.
  using Loose __attribute__((vector_size(VECTOR_BYTES), aligned(alignof(T)), may_alias)) = T;
  static constexpr int64_t count = VECTOR_BYTES / sizeof(T);

  static NERODE_INLINE Vector load(const T* from) { return *reinterpret_cast<const Loose*>(from); }
  static NERODE_INLINE void store(T* to, const Vector& vector) { *reinterpret_cast<Loose*>(to) = vector; }
};

// N vectors: one row of a block of columns.
template <class T, int N>
struct Row {
  using Vector = typename Lanes<T>::Vector;
  static constexpr int64_t width = N * Lanes<T>::count;
  Vector part[N] = {};

  static NERODE_INLINE Row load(const T* from) {
    Row row;
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) row.part[n] = Lanes<T>::load(from + n * Lanes<T>::count);
    return row;
  }
  // The first `columns` entries; the others are zero.
  static NERODE_INLINE Row load(const T* from, int64_t columns) {
    if (columns == width) return load(from);
    Row row;
    std::memcpy(row.part, from, columns * sizeof(T));
    return row;
  }
  NERODE_INLINE void store(T* to) const {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) Lanes<T>::store(to + n * Lanes<T>::count, part[n]);
  }
  NERODE_INLINE void store(T* to, int64_t columns) const { std::memcpy(to, part, columns * sizeof(T)); }

  NERODE_INLINE void add(T factor, const Row& other) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) part[n] += factor * other.part[n];
  }
  NERODE_INLINE void scale(T factor) {
#pragma GCC unroll 4
    for (int n = 0; n < N; ++n) part[n] = factor * part[n];
  }
  // The products with another row; their sum is that of the lanes.
  NERODE_INLINE Vector products(const Row& other) const {
    Vector sum = part[0] * other.part[0];
#pragma GCC unroll 4
    for (int n = 1; n < N; ++n) sum += part[n] * other.part[n];
    return sum;
  }
};

// Zeros for `rows` rows, each beginning where a vector may be loaded fastest.
template <class T, int N>
class Block {
 public:
  explicit Block(int64_t rows) : rows_(rows) {}
  T* data() { return reinterpret_cast<T*>(rows_.data()); }

 private:
  std::vector<Row<T, N>> rows_;
};

template <class T>
NERODE_INLINE T sum_lanes(const typename Lanes<T>::Vector& vector) {
  T sum = 0;
  for (int64_t lane = 0; lane < Lanes<T>::count; ++lane) sum += vector[lane];
  return sum;
}

template <class T, int N>
NERODE_INLINE T dot(const Row<T, N>& x, const Row<T, N>& y) {
  return sum_lanes<T>(x.products(y));
}

// Lane 2l is x[l] + x[l + half], lane 2l + 1 the same of y.
template <class T, size_t... I>
NERODE_INLINE typename Lanes<T>::Vector fold(const typename Lanes<T>::Vector& x,
                                             const typename Lanes<T>::Vector& y, std::index_sequence<I...>) {
  constexpr int n = Lanes<T>::count;
#if defined(__clang__)
  return __builtin_shufflevector(x, y, (static_cast<int>(I) / 2 + (I % 2 ? n : 0))...) +
         __builtin_shufflevector(x, y, (static_cast<int>(I) / 2 + n / 2 + (I % 2 ? n : 0))...);
#else
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using Mask __attribute__((vector_size(VECTOR_BYTES))) = Index;
  const Mask low = {(static_cast<Index>(I) / 2 + (I % 2 ? n : 0))...};
  const Mask high = {(static_cast<Index>(I) / 2 + n / 2 + (I % 2 ? n : 0))...};
  return __builtin_shuffle(x, y, low) + __builtin_shuffle(x, y, high);
#endif
}

// One vector for each row of the state, to be summed over its lanes: all rows at once is cheaper than each.
template <class T>
class RowSums {
 public:
  using Vector = typename Lanes<T>::Vector;
  static constexpr int64_t lanes = Lanes<T>::count;

  explicit RowSums(int64_t rows) : rows_((rows + lanes - 1) / lanes * lanes), parts_(rows_), totals_(rows_) {}

  NERODE_INLINE void set(int64_t row, const Vector& part) { Lanes<T>::store(parts_.data() + row * lanes, part); }
  // The sums of all rows.
  const T* totals() {
    for (int64_t row = 0; row < rows_; row += lanes) {
      Vector part[lanes];
#pragma GCC unroll 16
      for (int64_t i = 0; i < lanes; ++i) part[i] = Lanes<T>::load(parts_.data() + (row + i) * lanes);
      halve<lanes / 2>(part);
      Lanes<T>::store(totals_.data() + row, part[0]);
    }
    return totals_.data();
  }

 private:
  // Folds twice as many vectors as are left, again and again; without a loop they stay in registers.
  template <int Left>
  static NERODE_INLINE void halve(Vector* part) {
#pragma GCC unroll 16
    for (int i = 0; i < Left; ++i) part[i] = fold<T>(part[i], part[i + Left], std::make_index_sequence<lanes>());
    if constexpr (Left > 1) halve<Left / 2>(part);
  }

  int64_t rows_;
  Block<T, 1> parts_;
  std::vector<T> totals_;
};

// Sum over rows of weight[i] block[i].
template <class T, int N>
NERODE_INLINE Row<T, N> weigh(const T* block, const T* __restrict weight, int64_t rows) {
  Row<T, N> sum;
  for (int64_t i = 0; i < rows; ++i) sum.add(weight[i], Row<T, N>::load(block + i * Row<T, N>::width));
  return sum;
}

// Copies `columns` columns between a state and a block.
template <class T, int N>
void to_block(const T* state, T* block, int64_t rows, int64_t values, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    Row<T, N>::load(state + i * values, columns).store(block + i * Row<T, N>::width);
}

template <class T, int N>
void from_block(const T* block, T* state, int64_t rows, int64_t values, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(state + i * values, block + i * Row<T, N>::width, columns * sizeof(T));
}

// Calls work(integral constant N, first column, columns) for the blocks that make up `values` columns.
template <class T, class Work>
void for_each_block(int64_t values, const Work& work) {
  constexpr int64_t lanes = Lanes<T>::count;
  int64_t first = 0;
  for (; values - first > 2 * lanes; first += 4 * lanes)
    work(std::integral_constant<int, 4>(), first, std::min(values - first, 4 * lanes));
  for (; values - first > lanes; first += 2 * lanes)
    work(std::integral_constant<int, 2>(), first, std::min(values - first, 2 * lanes));
  for (; values - first > 0; first += lanes)
    work(std::integral_constant<int, 1>(), first, std::min(values - first, lanes));
}

}  // namespace nerode
