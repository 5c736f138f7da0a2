// h_t = P_t (D_t h_{t-1}) + b_t, complex, where P_t has in each column a 1 at the largest entry of the mixture
// sum over k of s_k M_k. Neither the mixtures nor P are ever kept: a state that is n wide has n targets.
//
// s is (batch, time, choices), M (choices, n, n), D and b (batch, time, n), the targets and all states too; a
// complex number is two neighbouring entries. The gradient of P is that of the softmax of each column.
#pragma once

#include <limits>

#include "columns.hpp"

namespace nerode {

struct ChoiceShape {
  int64_t batch, time, choices, n;
  int64_t positions() const { return batch * time; }
  int64_t effort() const { return positions() * choices * n * n; }
  // The gradient of M is summed over so many parts of the positions, however many threads there are.
  int64_t parts() const { return std::max<int64_t>(1, std::min<int64_t>(16, positions() / 64)); }
};

// The matrices M by blocks of columns, one vector wide: for each block and row the entries of all choices.
template <class T>
class ChoiceBlocks {
 public:
  using Vector = typename Lanes<T>::Vector;
  static constexpr int64_t lanes = Lanes<T>::count;
  const int64_t count;

  explicit ChoiceBlocks(const ChoiceShape& s)
      : count((s.n + lanes - 1) / lanes), choices_(s.choices), n_(s.n), rows_(count * s.n * s.choices) {}

  Vector* row(int64_t block, int64_t i) { return &rows_[(block * n_ + i) * choices_].part[0]; }
  const Vector* row(int64_t block, int64_t i) const { return &rows_[(block * n_ + i) * choices_].part[0]; }

  void fill(const T* matrices) {
    each([&](int64_t k, int64_t i, int64_t j, Vector& entry, int64_t lane) {
      entry[lane] = matrices[(k * n_ + i) * n_ + j];
    });
  }
  void add_to(T* matrices) {
    each([&](int64_t k, int64_t i, int64_t j, Vector& entry, int64_t lane) {
      matrices[(k * n_ + i) * n_ + j] += entry[lane];
    });
  }

 private:
  template <class Work>
  void each(const Work& work) {
    for (int64_t k = 0; k < choices_; ++k)
      for (int64_t i = 0; i < n_; ++i)
        for (int64_t j = 0; j < n_; ++j) work(k, i, j, row(j / lanes, i)[k], j % lanes);
  }

  int64_t choices_, n_;
  std::vector<Row<T, 1>> rows_;
};

// So many positions are mixed at a time, so that every vector of M is loaded once for all of them.
constexpr int64_t CHOICE_TILE = 4;

// One row of the mixtures of a tile of positions; `shares` holds s, by choice and position.
template <class T>
NERODE_INLINE void mix_row(const typename Lanes<T>::Vector* row, const T* __restrict shares, int64_t choices,
                           typename Lanes<T>::Vector (&sums)[CHOICE_TILE]) {
#pragma GCC unroll 4
  for (int p = 0; p < CHOICE_TILE; ++p) sums[p] = row[0] * shares[p];
  for (int64_t k = 1; k < choices; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < CHOICE_TILE; ++p) sums[p] += row[k] * shares[k * CHOICE_TILE + p];
  }
}

// s of the positions first … first + tile, those from `last` on zero.
template <class T>
void gather_shares(const T* s, int64_t choices, int64_t first, int64_t last, T* shares) {
  for (int64_t p = 0; p < CHOICE_TILE; ++p)
    for (int64_t k = 0; k < choices; ++k)
      shares[k * CHOICE_TILE + p] = first + p < last ? s[(first + p) * choices + k] : T(0);
}

// The row of the largest entry of each column, the first of them; -1 where an entry is not a number.
template <class T>
void choose_rows(const ChoiceShape& s, const ChoiceBlocks<T>& blocks, const T* shares, int64_t first,
                 int64_t last, int32_t* targets) {
  using Vector = typename Lanes<T>::Vector;
  using Place = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using Places __attribute__((vector_size(VECTOR_BYTES))) = Place;
  constexpr int64_t lanes = Lanes<T>::count;
  for (int64_t block = 0; block < blocks.count; ++block) {
    Vector best[CHOICE_TILE], sums[CHOICE_TILE];
    Places place[CHOICE_TILE] = {}, broken[CHOICE_TILE] = {};
    mix_row<T>(blocks.row(block, 0), shares, s.choices, best);
#pragma GCC unroll 4
    for (int p = 0; p < CHOICE_TILE; ++p) broken[p] = best[p] != best[p];
    for (int64_t i = 1; i < s.n; ++i) {
      mix_row<T>(blocks.row(block, i), shares, s.choices, sums);
      const Places here = Places{} + static_cast<Place>(i);
#pragma GCC unroll 4
      for (int p = 0; p < CHOICE_TILE; ++p) {
        const Places better = sums[p] > best[p];
        best[p] = better ? sums[p] : best[p];
        place[p] = better ? here : place[p];
        broken[p] |= sums[p] != sums[p];
      }
    }
    const int64_t width = std::min(lanes, s.n - block * lanes);
    for (int64_t p = 0; p < std::min(CHOICE_TILE, last - first); ++p)
      for (int64_t l = 0; l < width; ++l)
        targets[(first + p) * s.n + block * lanes + l] = broken[p][l] ? -1 : static_cast<int32_t>(place[p][l]);
  }
}

template <class T>
int choice_forward(const T* shares, const T* matrices, const T* diagonal, const T* writes, const T* initial,
                   int32_t* targets, T* out, int64_t batch, int64_t time, int64_t choices, int64_t n,
                   int64_t threads) {
  const ChoiceShape s{batch, time, choices, n};
  return within_memory([&] {
    ChoiceBlocks<T> blocks(s);
    blocks.fill(matrices);
    return run_units(batch, threads, s.effort(), [&](int64_t member) {
      std::vector<T> gathered(CHOICE_TILE * choices);
      const int64_t begin = member * time, end = begin + time;
      for (int64_t first = begin; first < end; first += CHOICE_TILE) {
        gather_shares(shares, choices, first, end, gathered.data());
        choose_rows(s, blocks, gathered.data(), first, end, targets);
      }
      const T* before = initial + 2 * member * n;
      for (int64_t at = begin; at < end; ++at) {
        T* now = out + 2 * at * n;
        const T* d = diagonal + 2 * at * n;
        for (int64_t j = 0; j < 2 * n; ++j) now[j] = writes ? writes[2 * at * n + j] : T(0);
        for (int64_t j = 0; j < n; ++j) {
          const int64_t i = targets[at * n + j];
          const T real = d[2 * j] * before[2 * j] - d[2 * j + 1] * before[2 * j + 1];
          const T imaginary = d[2 * j] * before[2 * j + 1] + d[2 * j + 1] * before[2 * j];
          if (i < 0) {
            std::fill(now, now + 2 * n, std::numeric_limits<T>::quiet_NaN());
            break;
          }
          now[2 * i] += real;
          now[2 * i + 1] += imaginary;
        }
        before = now;
      }
    });
  });
}

// What flows back through the softmax of the columns of a block, for a tile of positions: `flow` holds the
// gradients of the mixtures, `ends` the products that P moves and `gradients` those of the states.
template <class T>
class SoftColumns {
 public:
  using Vector = typename Lanes<T>::Vector;
  static constexpr int64_t lanes = Lanes<T>::count;

  explicit SoftColumns(const ChoiceShape& s) : s_(s), flow_(CHOICE_TILE * s.n), shares_(CHOICE_TILE * s.choices) {}

  // Adds to `dmatrices`, and sets the gradients of the shares.
  void step(const ChoiceBlocks<T>& matrices, const T* shares, const T* moved, const T* gradients, int64_t first,
            int64_t last, ChoiceBlocks<T>& dmatrices, T* dshares) {
    const int64_t here = std::min(CHOICE_TILE, last - first);
    gather_shares(shares, s_.choices, first, last, shares_.data());
    std::vector<Row<T, 1>> sums(CHOICE_TILE * s_.choices);
    for (int64_t block = 0; block < matrices.count; ++block) {
      mix(matrices, block);
      for (int64_t p = 0; p < CHOICE_TILE; ++p) {
        if (p < here)
          soften(p, block, moved + 2 * (first + p) * s_.n, gradients + 2 * (first + p) * s_.n);
        else
          for (int64_t i = 0; i < s_.n; ++i) flow(p, i) = Vector{};
      }
      give(matrices, block, dmatrices, sums);
    }
    for (int64_t p = 0; p < here; ++p)
      for (int64_t k = 0; k < s_.choices; ++k)
        dshares[(first + p) * s_.choices + k] = sum_lanes<T>(sums[k * CHOICE_TILE + p].part[0]);
  }

 private:
  Vector& flow(int64_t p, int64_t i) { return flow_[p * s_.n + i].part[0]; }

  void mix(const ChoiceBlocks<T>& matrices, int64_t block) {
    Vector sums[CHOICE_TILE];
    for (auto& highest : highest_) highest = Vector{} - std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < s_.n; ++i) {
      mix_row<T>(matrices.row(block, i), shares_.data(), s_.choices, sums);
#pragma GCC unroll 4
      for (int p = 0; p < CHOICE_TILE; ++p) {
        highest_[p] = sums[p] > highest_[p] ? sums[p] : highest_[p];
        flow(p, i) = sums[p];
      }
    }
  }

  // The mixtures of a position become their gradients.
  void soften(int64_t p, int64_t block, const T* moved, const T* gradients) {
    T real[lanes] = {}, imaginary[lanes] = {}, total[lanes] = {}, mean[lanes] = {}, highest[lanes];
    const int64_t width = std::min(lanes, s_.n - block * lanes);
    for (int64_t l = 0; l < width; ++l) {
      real[l] = moved[2 * (block * lanes + l)];
      imaginary[l] = moved[2 * (block * lanes + l) + 1];
    }
    Lanes<T>::store(highest, highest_[p]);
    for (int64_t i = 0; i < s_.n; ++i) {
      T* __restrict x = reinterpret_cast<T*>(&flow(p, i));
      const T gr = gradients[2 * i], gi = gradients[2 * i + 1];
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l) {
        const T e = exponential(x[l] - highest[l]);
        x[l] = e;
        total[l] += e;
        mean[l] += e * (gr * real[l] + gi * imaginary[l]);
      }
    }
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
      total[l] = T(1) / total[l];
      mean[l] *= total[l];
    }
    for (int64_t i = 0; i < s_.n; ++i) {
      T* __restrict x = reinterpret_cast<T*>(&flow(p, i));
      const T gr = gradients[2 * i], gi = gradients[2 * i + 1];
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l)
        x[l] *= total[l] * (gr * real[l] + gi * imaginary[l] - mean[l]);
    }
  }

  void give(const ChoiceBlocks<T>& matrices, int64_t block, ChoiceBlocks<T>& dmatrices,
            std::vector<Row<T, 1>>& sums) {
    for (int64_t k = 0; k < s_.choices; ++k) {
      Vector found[CHOICE_TILE], share[CHOICE_TILE];
#pragma GCC unroll 4
      for (int p = 0; p < CHOICE_TILE; ++p) {
        found[p] = sums[k * CHOICE_TILE + p].part[0];
        share[p] = Vector{} + shares_[k * CHOICE_TILE + p];
      }
      for (int64_t i = 0; i < s_.n; ++i) {
        const Vector entry = matrices.row(block, i)[k];
        Vector change = dmatrices.row(block, i)[k];
#pragma GCC unroll 4
        for (int p = 0; p < CHOICE_TILE; ++p) {
          const Vector x = flow(p, i);
          found[p] += entry * x;
          change += share[p] * x;
        }
        dmatrices.row(block, i)[k] = change;
      }
#pragma GCC unroll 4
      for (int p = 0; p < CHOICE_TILE; ++p) sums[k * CHOICE_TILE + p].part[0] = found[p];
    }
  }

  const ChoiceShape s_;
  std::vector<Row<T, 1>> flow_;
  std::vector<T> shares_;
  Vector highest_[CHOICE_TILE];
};

// `dwrites` is the gradient of the states too; `dshares` and `dmatrices` are missing where the choice has no
// gradient. `dinitial` serves as the carry from one position to the one before.
template <class T>
int choice_backward(const T* shares, const T* matrices, const T* diagonal, const T* initial,
                    const int32_t* targets, const T* out, const T* dout, T* dshares, T* dmatrices, T* ddiagonal,
                    T* dwrites, T* dinitial, int64_t batch, int64_t time, int64_t choices, int64_t n,
                    int64_t threads) {
  const ChoiceShape s{batch, time, choices, n};
  return within_memory([&] {
    // What P moves: D h.
    std::vector<T> moved(dshares ? 2 * s.positions() * n : 0);
    const int outcome = run_units(batch, threads, 8 * s.positions() * n, [&](int64_t member) {
      T* carry = dinitial + 2 * member * n;
      std::fill(carry, carry + 2 * n, T(0));
      for (int64_t t = time - 1; t >= 0; --t) {
        const int64_t at = member * time + t;
        const T* before = t ? out + 2 * (at - 1) * n : initial + 2 * member * n;
        const T* d = diagonal + 2 * at * n;
        T* gradient = dwrites + 2 * at * n;
        for (int64_t j = 0; j < 2 * n; ++j) gradient[j] = dout[2 * at * n + j] + carry[j];
        for (int64_t j = 0; j < n; ++j) {
          const int64_t i = std::max(targets[at * n + j], 0);
          const T gr = gradient[2 * i], gi = gradient[2 * i + 1], hr = before[2 * j], hi = before[2 * j + 1];
          const T dr = d[2 * j], di = d[2 * j + 1];
          ddiagonal[2 * (at * n + j)] = gr * hr + gi * hi;
          ddiagonal[2 * (at * n + j) + 1] = gi * hr - gr * hi;
          carry[2 * j] = dr * gr + di * gi;
          carry[2 * j + 1] = dr * gi - di * gr;
          if (dshares) {
            moved[2 * (at * n + j)] = dr * hr - di * hi;
            moved[2 * (at * n + j) + 1] = dr * hi + di * hr;
          }
        }
      }
    });
    if (outcome != OK || !dshares) return outcome;
    ChoiceBlocks<T> blocks(s);
    blocks.fill(matrices);
    std::vector<ChoiceBlocks<T>> partial(s.parts(), ChoiceBlocks<T>(s));
    const int finished = run_units(s.parts(), threads, 4 * s.effort(), [&](int64_t part) {
      SoftColumns<T> columns(s);
      const int64_t last = s.positions() * (part + 1) / s.parts();
      for (int64_t first = s.positions() * part / s.parts(); first < last; first += CHOICE_TILE)
        columns.step(blocks, shares, moved.data(), dwrites, first, last, partial[part], dshares);
    });
    std::fill(dmatrices, dmatrices + choices * n * n, T(0));
    for (auto& one : partial) one.add_to(dmatrices);
    return finished;
  });
}

}  // namespace nerode
