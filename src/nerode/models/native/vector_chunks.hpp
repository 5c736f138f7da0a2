// The matrix recurrence S_t = diag(a_t) S_{t-1} + k_t^T v_t, o_t = q_t S_t with a vector a_t, a chunk at a time.
//
// Inside a chunk that begins at the state S, with r_ij = a_{j+1} ∘ … ∘ a_i ∘ k_j and g_i = a_1 ∘ … ∘ a_i,
//   o_i = sum over j <= i of (q_i · r_ij) v_j + (g_i ∘ q_i) S.
// The keys r_ij decay step by step, by multiplication alone: zeros and signs do no harm. The rest is in
// products of small matrices.
#pragma once

#include "tiles.hpp"

namespace nerode {

// What both passes keep of one chunk.
template <class T>
struct VectorChunk {
  const MatrixShape& shape;
  Padded<T> q, k, v, a, g, scores;
  std::vector<T> ones;

  explicit VectorChunk(const MatrixShape& s)
      : shape(s),
        q(s.chunk, s.keys),
        k(s.chunk, s.keys),
        v(s.chunk, s.values),
        a(s.chunk, s.keys),
        g(s.chunk, s.keys),
        scores(s.chunk, s.chunk),
        ones(s.chunk, T(1)) {}

  // Reads the chunk of `n` steps whose first lies at `at`.
  void read(const T* qs, const T* ks, const T* vs, const T* decay, int64_t at, int64_t n) {
    const int64_t stride = shape.heads * shape.keys;
    q.fill(qs + at * shape.keys, n, shape.keys, stride);
    k.fill(ks + at * shape.keys, n, shape.keys, stride);
    v.fill(vs + at * shape.values, n, shape.values, shape.heads * shape.values);
    a.fill(decay + at * shape.keys, n, shape.keys, stride);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t d = 0; d < a.row; ++d) g[i][d] = i ? a[i][d] * g[i - 1][d] : a[i][d];
  }

  // The score of q_i and r_ij, where r comes in as r_{i-1,j} and leaves as r_ij in `to`, which may be `from`.
  NERODE_INLINE T decay_and_score(int64_t i, const T* from, T* to) const {
    using Tile = Tiles<T>;
    typename Tile::Vector sums = {};
    for (int64_t d = 0; d < q.row; d += Tile::lanes) {
      const auto now = Tile::load(a[i] + d) * Tile::load(from + d);
      Tile::store(to + d, now);
      sums += Tile::load(q[i] + d) * now;
    }
    return sum_lanes<T>(sums);
  }

  // Each entry of q becomes g ∘ q.
  void decay_queries(int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      T* __restrict query = q[i];
      const T* __restrict factor = g[i];
      for (int64_t d = 0; d < q.row; ++d) query[d] *= factor[d];
    }
  }
};

template <class T>
void vector_chunks_forward(const MatrixShape& s, int64_t unit, const T* q, const T* k, const T* v, const T* decay,
                           const T* initial, T* o, T* final, T* borders) {
  const int64_t size = s.size();
  VectorChunk<T> c(s);
  Padded<T> S(s.keys, s.values), out(s.chunk, s.values);
  S.fill(initial + unit * size, s.keys, s.values, s.values);
  for (int64_t number = 0; number < s.chunks(); ++number) {
    const int64_t begin = number * s.chunk, n = std::min(s.chunk, s.time - begin), at = s.index(unit, begin);
    if (borders) S.give(borders + (unit * s.chunks() + number) * size, s.keys, s.values, s.values);
    c.read(q, k, v, decay, at, n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < i; ++j) c.scores[i][j] = c.decay_and_score(i, c.k[j], c.k[j]);
      c.scores[i][i] = dot(c.q[i], c.k[i], c.q.row);
    }
    out.template multiply<Span::UP_TO_ROW>(c.scores.plain(), c.v, n, n);
    c.decay_queries(n);
    out.multiply(c.q.plain(), S, n, s.keys, c.ones.data());
    out.give(o + at * s.values, n, s.values, s.heads * s.values);
    S.multiply(c.k.transposed(), c.v, s.keys, n, c.g[n - 1]);
  }
  S.give(final + unit * size, s.keys, s.values, s.values);
}

// Runs back along the steps of a chunk: r_ij = a_i ∘ r_{i-1,j} and g_i = a_i ∘ g_{i-1}.
//
// `weights` are the gradients of the scores, `decayed` holds r_ij in row i (i + 1) / 2 + j. `dr` comes in as
// the gradients of the keys that are left at the end and leaves as those of the keys; `later` comes in as the
// gradient of the last g; `dq` comes in as the gradient of g ∘ q, and leaves as that of q.
template <class T>
void vector_decay_gradient(const VectorChunk<T>& c, const Padded<T>& weights, const Padded<T>& decayed,
                           Padded<T>& dr, T* later, Padded<T>& dq, Padded<T>& da, int64_t n) {
  using Tile = Tiles<T>;
  const int64_t row = c.q.row;
  for (int64_t i = n - 1; i >= 0; --i) {
    const T* weight = weights[i];
    for (int64_t d = 0; d < row; d += Tile::lanes) {
      const auto query = Tile::load(c.q[i] + d), factor = Tile::load(c.a[i] + d);
      const auto by_total = Tile::load(dq[i] + d), dtotal = Tile::load(later + d) + by_total * query;
      auto dquery = by_total * Tile::load(c.g[i] + d);
      auto dfactor = i ? dtotal * Tile::load(c.g[i - 1] + d) : dtotal;
      Tile::store(later + d, dtotal * factor);
      const T* now = decayed[i * (i + 1) / 2] + d;
      const T* before = i ? decayed[(i - 1) * i / 2] + d : nullptr;
      T* change = dr[0] + d;
      for (int64_t j = 0; j < i; ++j, now += row, before += row, change += row) {
        const auto here = Tile::load(change) + weight[j] * query;
        dquery += weight[j] * Tile::load(now);
        dfactor += here * Tile::load(before);
        Tile::store(change, here * factor);
      }
      Tile::store(change, Tile::load(change) + weight[i] * query);
      Tile::store(dq[i] + d, dquery + weight[i] * Tile::load(now));
      Tile::store(da[i] + d, dfactor);
    }
  }
}

// `dinitial` comes in as the gradient of the final state and leaves as that of the initial one.
template <class T>
void vector_chunks_backward(const MatrixShape& s, int64_t unit, const T* q, const T* k, const T* v, const T* decay,
                            const T* borders, const T* dout, T* dq, T* dk, T* dv, T* ddecay, T* dinitial) {
  const int64_t size = s.size(), keys_apart = s.heads * s.keys, values_apart = s.heads * s.values;
  VectorChunk<T> c(s);
  Padded<T> S(s.keys, s.values), G(s.keys, s.values), turned(s.values, s.keys);
  Padded<T> decayed(s.chunk * (s.chunk + 1) / 2, s.keys), read(s.chunk, s.values), weights(s.chunk, s.chunk);
  Padded<T> by_state(s.chunk, s.keys), to_keys(s.chunk, s.keys), to_values(s.chunk, s.values);
  Padded<T> to_decay(s.chunk, s.keys), later(1, s.keys);
  G.fill(dinitial + unit * size, s.keys, s.values, s.values);
  for (int64_t number = s.chunks() - 1; number >= 0; --number) {
    const int64_t begin = number * s.chunk, n = std::min(s.chunk, s.time - begin), at = s.index(unit, begin);
    S.fill(borders + (unit * s.chunks() + number) * size, s.keys, s.values, s.values);
    c.read(q, k, v, decay, at, n);
    read.fill(dout + at * s.values, n, s.values, values_apart);
    for (int64_t i = 0; i < n; ++i) {
      T* now = decayed[i * (i + 1) / 2];
      for (int64_t j = 0; j < i; ++j)
        c.scores[i][j] = c.decay_and_score(i, decayed[(i - 1) * i / 2 + j], now + j * decayed.row);
      std::copy(c.k[i], c.k[i] + c.k.row, now + i * decayed.row);
      c.scores[i][i] = dot(c.q[i], c.k[i], c.q.row);
      for (int64_t j = 0; j <= i; ++j) weights[i][j] = dot(read[i], c.v[j], read.row);
    }

    turned.transpose(S, s.keys);
    by_state.multiply(read.plain(), turned, n, s.values);
    turned.transpose(G, s.keys);
    to_keys.multiply(c.v.plain(), turned, n, s.values);
    for (int64_t d = 0; d < s.keys; ++d) later[0][d] = dot(G[d], S[d], S.row);
    vector_decay_gradient(c, weights, decayed, to_keys, later[0], by_state, to_decay, n);
    by_state.give(dq + at * s.keys, n, s.keys, keys_apart);
    to_keys.give(dk + at * s.keys, n, s.keys, keys_apart);
    to_decay.give(ddecay + at * s.keys, n, s.keys, keys_apart);

    // The keys that are left at the end are the last rows of `decayed`.
    to_values.multiply({decayed[n * (n - 1) / 2], decayed.row, 1}, G, n, s.keys);
    to_values.template multiply<Span::FROM_ROW>(c.scores.transposed(), read, n, n, c.ones.data());
    to_values.give(dv + at * s.values, n, s.values, values_apart);
    c.decay_queries(n);
    G.multiply(c.q.transposed(), read, s.keys, n, c.g[n - 1]);
  }
  G.give(dinitial + unit * size, s.keys, s.values, s.values);
}

}  // namespace nerode
