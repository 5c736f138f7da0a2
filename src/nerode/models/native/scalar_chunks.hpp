// The matrix recurrence S_t = a_t S_{t-1} + k_t^T v_t, o_t = q_t S_t with one number a_t, a chunk at a time.
//
// Inside a chunk that begins at the state S, with L_ij = a_{j+1} … a_i and g_i = a_1 … a_i,
//   o_i = sum over j <= i of L_ij (q_i · k_j) v_j + g_i q_i S,
// so all work is in products of small matrices. L comes from multiplication alone: zeros and signs do no harm.
#pragma once

#include "tiles.hpp"

namespace nerode {

// What both passes keep of one chunk.
template <class T>
struct ScalarChunk {
  using Tile = Tiles<T>;
  const MatrixShape& shape;
  Padded<T> q, k, v, L, scores, turned;
  std::vector<T> g, keep;

  explicit ScalarChunk(const MatrixShape& s)
      : shape(s),
        q(s.chunk, s.keys),
        k(s.chunk, s.keys),
        v(s.chunk, s.values),
        L(s.chunk, s.chunk),
        scores(s.chunk, s.chunk),
        turned(s.keys, s.chunk),
        g(s.chunk),
        keep(std::max(s.keys, s.chunk)) {}

  // Reads the chunk of `n` steps whose first lies at `at`, and computes q_i · k_j.
  void read(const T* qs, const T* ks, const T* vs, const T* decays, int64_t at, int64_t n) {
    const int64_t heads = shape.heads;
    q.fill(qs + at * shape.keys, n, shape.keys, heads * shape.keys);
    k.fill(ks + at * shape.keys, n, shape.keys, heads * shape.keys);
    v.fill(vs + at * shape.values, n, shape.values, heads * shape.values);
    for (int64_t i = 0; i < n; ++i) {
      const T a = decays[at + i * heads];
      g[i] = i ? a * g[i - 1] : a;
      if (i)
        for (int64_t j = 0; j < L.row; j += Tile::lanes) Tile::store(L[i] + j, a * Tile::load(L[i - 1] + j));
      L[i][i] = 1;
    }
    turned.transpose(k, n);
    scores.multiply(q.plain(), turned, n, shape.keys);
  }

  // x_ij becomes L_ij x_ij.
  void decay(Padded<T>& x, int64_t n) const {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < x.row; j += Tile::lanes)
        Tile::store(x[i] + j, Tile::load(L[i] + j) * Tile::load(x[i] + j));
  }

  // Each row of x times its own factor.
  static void scale_rows(Padded<T>& x, const T* factor, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < x.row; j += Tile::lanes) Tile::store(x[i] + j, factor[i] * Tile::load(x[i] + j));
  }

  // `keep` for a whole state that decays by the chunk's total, or for rows that are only added to.
  const T* keep_all(T factor) {
    std::fill(keep.begin(), keep.end(), factor);
    return keep.data();
  }
};

template <class T>
void scalar_chunks_forward(const MatrixShape& s, int64_t unit, const T* q, const T* k, const T* v, const T* decay,
                           const T* initial, T* o, T* final, T* borders) {
  const int64_t size = s.size();
  ScalarChunk<T> c(s);
  Padded<T> S(s.keys, s.values), out(s.chunk, s.values);
  S.fill(initial + unit * size, s.keys, s.values, s.values);
  for (int64_t number = 0; number < s.chunks(); ++number) {
    const int64_t begin = number * s.chunk, n = std::min(s.chunk, s.time - begin), at = s.index(unit, begin);
    if (borders) S.give(borders + (unit * s.chunks() + number) * size, s.keys, s.values, s.values);
    c.read(q, k, v, decay, at, n);
    c.decay(c.scores, n);
    out.template multiply<Span::UP_TO_ROW>(c.scores.plain(), c.v, n, n);
    c.scale_rows(c.q, c.g.data(), n);
    out.multiply(c.q.plain(), S, n, s.keys, c.keep_all(1));
    out.give(o + at * s.values, n, s.values, s.heads * s.values);
    c.scale_rows(c.k, c.L[n - 1], n);
    S.multiply(c.k.transposed(), c.v, s.keys, n, c.keep_all(c.g[n - 1]));
  }
  S.give(final + unit * size, s.keys, s.values, s.values);
}

// The gradients of the decays from those of L and g: both are products, step after step, so their gradients
// run back along the steps. `dL` is zero on and above the diagonal, and is used up.
template <class T>
void scalar_decay_gradient(const ScalarChunk<T>& c, Padded<T>& dL, const T* dg, const T* decay, T* ddecay,
                           int64_t n, int64_t stride) {
  using Tile = Tiles<T>;
  T later = 0;
  for (int64_t i = n - 1; i > 0; --i) {
    const T a = decay[i * stride];
    later += dg[i];
    typename Tile::Vector sums = {};
    for (int64_t j = 0; j < i; j += Tile::lanes) {
      const auto row = Tile::load(dL[i] + j);
      sums += row * Tile::load(c.L[i - 1] + j);
      Tile::store(dL[i - 1] + j, Tile::load(dL[i - 1] + j) + a * row);
    }
    ddecay[i * stride] = later * c.g[i - 1] + sum_lanes<T>(sums);
    later *= a;
  }
  ddecay[0] = later + dg[0];
}

// `dinitial` comes in as the gradient of the final state and leaves as that of the initial one.
template <class T>
void scalar_chunks_backward(const MatrixShape& s, int64_t unit, const T* q, const T* k, const T* v, const T* decay,
                            const T* borders, const T* dout, T* dq, T* dk, T* dv, T* ddecay, T* dinitial) {
  using Tile = Tiles<T>;
  const int64_t size = s.size(), row = s.heads;
  ScalarChunk<T> c(s);
  Padded<T> S(s.keys, s.values), G(s.keys, s.values), turned_state(s.values, s.keys);
  Padded<T> read(s.chunk, s.values), turned_values(s.values, s.chunk);
  Padded<T> weights(s.chunk, s.chunk), dL(s.chunk, s.chunk);
  Padded<T> by_state(s.chunk, s.keys), to_keys(s.chunk, s.keys), to_values(s.chunk, s.values);
  std::vector<T> dg(s.chunk);
  G.fill(dinitial + unit * size, s.keys, s.values, s.values);
  for (int64_t number = s.chunks() - 1; number >= 0; --number) {
    const int64_t begin = number * s.chunk, n = std::min(s.chunk, s.time - begin), at = s.index(unit, begin);
    S.fill(borders + (unit * s.chunks() + number) * size, s.keys, s.values, s.values);
    c.read(q, k, v, decay, at, n);
    read.fill(dout + at * s.values, n, s.values, row * s.values);
    turned_values.transpose(c.v, n);
    weights.multiply(read.plain(), turned_values, n, s.values);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < dL.row; j += Tile::lanes)
        Tile::store(dL[i] + j, Tile::only_before(Tile::load(weights[i] + j) * Tile::load(c.scores[i] + j), j, i));
    c.decay(c.scores, n);
    c.decay(weights, n);

    // What was read from the state before the chunk.
    turned_state.transpose(S, s.keys);
    by_state.multiply(read.plain(), turned_state, n, s.values);
    for (int64_t i = 0; i < n; ++i) dg[i] = dot(c.q[i], by_state[i], c.q.row);
    c.scale_rows(by_state, c.g.data(), n);
    by_state.template multiply<Span::UP_TO_ROW>(weights.plain(), c.k, n, n, c.keep_all(1));
    by_state.give(dq + at * s.keys, n, s.keys, row * s.keys);

    // What was written for the state after the chunk: the last row of L weighs it.
    const T* left = c.L[n - 1];
    turned_state.transpose(G, s.keys);
    to_keys.multiply(c.v.plain(), turned_state, n, s.values);
    for (int64_t j = 0; j < n - 1; ++j) dL[n - 1][j] += dot(c.k[j], to_keys[j], c.k.row);
    dg[n - 1] += dot(G[0], S[0], s.keys * S.row);
    c.scale_rows(to_keys, left, n);
    to_keys.template multiply<Span::FROM_ROW>(weights.transposed(), c.q, n, n, c.keep_all(1));
    to_keys.give(dk + at * s.keys, n, s.keys, row * s.keys);
    c.scale_rows(c.k, left, n);
    to_values.multiply(c.k.plain(), G, n, s.keys);
    to_values.template multiply<Span::FROM_ROW>(c.scores.transposed(), read, n, n, c.keep_all(1));
    to_values.give(dv + at * s.values, n, s.values, row * s.values);

    scalar_decay_gradient(c, dL, dg.data(), decay + at, ddecay + at, n, row);
    c.scale_rows(c.q, c.g.data(), n);
    G.multiply(c.q.transposed(), read, s.keys, n, c.keep_all(c.g[n - 1]));
  }
  G.give(dinitial + unit * size, s.keys, s.values, s.values);
}

}  // namespace nerode
