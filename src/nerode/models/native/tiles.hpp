// Products of small dense matrices that stay in the first caches.
//
// Rows are padded with zeros to whole vectors and buffers begin on a cache line, so no loop has a remainder.
// A tile of rows lives in registers while the right-hand matrix streams past.
#pragma once

#include <type_traits>

#include "columns.hpp"

namespace nerode {

// Which k take part in row r of a product: all, those up to r, or those from r on. The last two are for a
// lower triangle on the left and for its transpose; what lies beyond the diagonal is not looked at.
enum class Span { ALL, UP_TO_ROW, FROM_ROW };

template <class T>
struct Tiles : Lanes<T> {
  using typename Lanes<T>::Vector;
  using Lanes<T>::load;
  using Lanes<T>::store;
  using Lane = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using Index __attribute__((vector_size(VECTOR_BYTES))) = Lane;
  static constexpr int64_t lanes = Lanes<T>::count;

  static constexpr int64_t pad(int64_t n) { return (n + lanes - 1) / lanes * lanes; }

  // x in the lanes j with first + j < end, zero in the others.
  static NERODE_INLINE Vector only_before(Vector x, int64_t first, int64_t end) {
    Index place;
    for (int l = 0; l < lanes; ++l) place[l] = l;
    return place < static_cast<Lane>(end - first) ? x : Vector{};
  }

  // The matrix whose entry (r, k) is at[r * row + k * column].
  struct Left {
    const T* at;
    int64_t row, column;
  };

  // out[r] = keep[r] out[r] + sum over k of left(r, k) right[k], r < rows, k < depth; without `keep` the old
  // rows of `out` do not count. Rows of `right` and of `out` are `width` long, a multiple of `lanes`.
  template <Span span>
  static void multiply(Left left, const T* right, T* out, const T* keep, int64_t rows, int64_t depth,
                       int64_t width) {
    int64_t j = 0;
    for (; j + 2 * lanes <= width; j += 2 * lanes)
      columns<span, 2>(left, right + j, out + j, keep, rows, depth, width);
    if (j < width) columns<span, 1>(left, right + j, out + j, keep, rows, depth, width);
  }

  // to[j][i] = from[i][j] for i < rows, j < columns, both rounded up to multiples of `lanes`.
  static void transpose(const T* from, int64_t from_row, T* to, int64_t to_row, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; i += lanes)
      for (int64_t j = 0; j < columns; j += lanes)
        transpose_block(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
  }

 private:
  template <Span span, int Vectors>
  static void columns(Left left, const T* right, T* out, const T* keep, int64_t rows, int64_t depth,
                      int64_t width) {
    int64_t r = 0;
    for (; r + TILE_ROWS <= rows; r += TILE_ROWS)
      tile<span, TILE_ROWS, Vectors>(left, right, out, keep, r, depth, width);
    if (r + TILE_ROWS / 2 <= rows) {
      tile<span, TILE_ROWS / 2, Vectors>(left, right, out, keep, r, depth, width);
      r += TILE_ROWS / 2;
    }
    for (; r < rows; ++r) tile<span, 1, Vectors>(left, right, out, keep, r, depth, width);
  }

  template <Span span, int Rows, int Vectors>
  static NERODE_INLINE void tile(Left left, const T* right, T* out, const T* keep, int64_t first, int64_t depth,
                                 int64_t width) {
    Vector sums[Rows][Vectors] = {};
    const Left rows{left.at + first * left.row, left.row, left.column};
    const int64_t end = std::min(depth, first + Rows);
    if (span == Span::ALL) {
      for (int64_t k = 0; k < depth; ++k) add<0, Rows>(rows, right, k, width, sums);
    } else if (span == Span::UP_TO_ROW) {
      for (int64_t k = 0; k < first; ++k) add<0, Rows>(rows, right, k, width, sums);
      diagonal<span, 0>(rows, right, first, end, width, sums);
    } else {
      diagonal<span, 0>(rows, right, first, end, width, sums);
      for (int64_t k = end; k < depth; ++k) add<0, Rows>(rows, right, k, width, sums);
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      T* row = out + (first + r) * width;
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) {
        const Vector old = keep ? keep[first + r] * load(row + j * lanes) : Vector{};
        store(row + j * lanes, old + sums[r][j]);
      }
    }
  }

  // The k-th term of the sums of rows From … To - 1.
  template <int From, int To, int Rows, int Vectors>
  static NERODE_INLINE void add(Left rows, const T* right, int64_t k, int64_t width,
                                Vector (&sums)[Rows][Vectors]) {
    Vector b[Vectors];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) b[j] = load(right + k * width + j * lanes);
    // Unrolled for certain: otherwise the sums live in memory.
#pragma GCC unroll 16
    for (int r = From; r < To; ++r) {
      const T x = rows.at[r * rows.row + k * rows.column];
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sums[r][j] += x * b[j];
    }
  }

  // The terms of the triangle on the diagonal, which begins at row and column `first`.
  template <Span span, int Step, int Rows, int Vectors>
  static NERODE_INLINE void diagonal(Left rows, const T* right, int64_t first, int64_t end, int64_t width,
                                     Vector (&sums)[Rows][Vectors]) {
    if constexpr (Step < Rows) {
      if (first + Step == end) return;
      constexpr int from = span == Span::UP_TO_ROW ? Step : 0, to = span == Span::UP_TO_ROW ? Rows : Step + 1;
      add<from, to>(rows, right, first + Step, width, sums);
      diagonal<span, Step + 1>(rows, right, first, end, width, sums);
    }
  }

  // Exchanges ever larger off-diagonal blocks of a square of lanes × lanes.
  static NERODE_INLINE void transpose_block(const T* from, int64_t from_row, T* to, int64_t to_row) {
    Vector rows[lanes];
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) rows[i] = load(from + i * from_row);
    exchange<1>(rows);
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) store(to + i * to_row, rows[i]);
  }

  template <int block>
  static NERODE_INLINE void exchange(Vector (&rows)[lanes]) {
    if constexpr (block < lanes) {
      Index above, below;
      for (int l = 0; l < lanes; ++l) {
        above[l] = l & block ? lanes + l - block : l;
        below[l] = l & block ? lanes + l : l + block;
      }
#pragma GCC unroll 16
      for (int i = 0; i < lanes; ++i) {
        if (i & block) continue;
        const Vector first = rows[i], second = rows[i + block];
        rows[i] = __builtin_shuffle(first, second, above);
        rows[i + block] = __builtin_shuffle(first, second, below);
      }
      exchange<2 * block>(rows);
    }
  }
};

// A matrix of zeros that begins on a cache line, rows and columns rounded up to whole vectors.
template <class T>
class Padded {
 public:
  const int64_t row;

  Padded(int64_t rows, int64_t columns)
      : row(Tiles<T>::pad(columns)), storage_(Tiles<T>::pad(rows) * row + 64 / sizeof(T)) {
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    data_ = storage_.data() + (64 - address % 64) % 64 / sizeof(T);
  }
  Padded(const Padded&) = delete;

  T* operator[](int64_t i) { return data_ + i * row; }
  const T* operator[](int64_t i) const { return data_ + i * row; }

  // Rows `columns` long, `stride` apart in memory, become the first rows here; and back.
  void fill(const T* from, int64_t rows, int64_t columns, int64_t stride) {
    for (int64_t i = 0; i < rows; ++i) copy(from + i * stride, (*this)[i], columns);
  }
  void give(T* to, int64_t rows, int64_t columns, int64_t stride) const {
    for (int64_t i = 0; i < rows; ++i) copy((*this)[i], to + i * stride, columns);
  }

  typename Tiles<T>::Left plain() const { return {data_, row, 1}; }
  typename Tiles<T>::Left transposed() const { return {data_, 1, row}; }

  // This matrix becomes keep × itself + left × right; without `keep`, left × right.
  template <Span span = Span::ALL>
  void multiply(typename Tiles<T>::Left left, const Padded& right, int64_t rows, int64_t depth,
                const T* keep = nullptr) {
    Tiles<T>::template multiply<span>(left, right.data_, data_, keep, rows, depth, row);
  }

  // This matrix becomes the transpose of the first rows of another.
  void transpose(const Padded& other, int64_t rows) {
    Tiles<T>::transpose(other.data_, other.row, data_, row, rows, other.row);
  }

 private:
  // Rows are short: a call of memcpy for each would take longer than the copy.
  static NERODE_INLINE void copy(const T* from, T* to, int64_t n) {
    int64_t i = 0;
    for (; i + Tiles<T>::lanes <= n; i += Tiles<T>::lanes) Tiles<T>::store(to + i, Tiles<T>::load(from + i));
    for (; i < n; ++i) to[i] = from[i];
  }

  std::vector<T> storage_;
  T* data_;
};

}  // namespace nerode
