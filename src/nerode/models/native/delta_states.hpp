// The delta rule: each token first scales the matrix state, then makes `steps` writes, and is read once.
//
// A write replaces what the key retrieves: with f = S^T k, S <- keep S + k u^T, u = beta (v - keep f), which
// multiplies S by keep (I - beta k k^T); only the first write of a token scales. Keys, values and beta of the
// writes are (batch, time, steps, heads, ...). One pass over S makes a write, reads the token and finds f of
// the next write.
#pragma once

#include "columns.hpp"

namespace nerode {

template <class T>
struct DeltaInputs {
  const T *q, *k, *v, *beta, *decay;
  MatrixShape shape;
  int64_t steps;

  int64_t writes() const { return shape.time * steps; }
  // Position of a unit's n-th write among all writes.
  int64_t write(int64_t unit, int64_t n) const {
    return (unit / shape.heads * writes() + n) * shape.heads + unit % shape.heads;
  }
  const T* key(int64_t unit, int64_t n) const { return k + write(unit, n) * shape.keys; }
  bool scales(int64_t n) const { return decay && n % steps == 0; }
  bool reads(int64_t n) const { return (n + 1) % steps == 0; }
  T keep(int64_t unit, int64_t n) const { return scales(n) ? decay[shape.index(unit, n / steps)] : T(1); }
};

template <class T>
struct DeltaGradients {
  T *dq, *dk, *dv, *dbeta, *ddecay;
};

// One write from `from` to `to`, which may be the same; returns f of the next write, and the reading.
template <class T, int N, bool Scale, bool Read>
NERODE_INLINE Row<T, N> delta_write(const T* from, T* to, const T* __restrict key, const T* __restrict query,
                                    const T* __restrict next, T keep, const Row<T, N>& u, Row<T, N>& reading,
                                    int64_t keys) {
  Row<T, N> found, read;
  for (int64_t i = 0; i < keys; ++i) {
    Row<T, N> row = Row<T, N>::load(from + i * Row<T, N>::width);
    if (Scale) row.scale(keep);
    row.add(key[i], u);
    row.store(to + i * Row<T, N>::width);
    found.add(next[i], row);
    if (Read) read.add(query[i], row);
  }
  if (Read) reading = read;
  return found;
}

// The columns [first, first + columns) of one unit.
template <class T, int N>
struct DeltaColumns {
  using Columns = Row<T, N>;
  const DeltaInputs<T>& in;
  int64_t unit, first, columns;

  int64_t size() const { return in.shape.keys * Columns::width; }

  Columns miss(int64_t n, T keep, const Columns& found) const {
    Columns row = Columns::load(in.v + in.write(unit, n) * in.shape.values + first, columns);
    row.add(-keep, found);
    return row;
  }

  // The n-th write; `found` is its f and becomes that of the next one.
  void apply(const T* from, T* to, int64_t n, Columns& found, Columns& reading) const {
    const T keep = in.keep(unit, n);
    Columns u = miss(n, keep, found);
    u.scale(in.beta[in.write(unit, n)]);
    const int64_t keys = in.shape.keys;
    const T* key = in.key(unit, n);
    const T* query = in.q + in.shape.index(unit, n / in.steps) * keys;
    const T* next = in.key(unit, std::min(n + 1, in.writes() - 1));
    if (in.scales(n) && in.reads(n)) {
      found = delta_write<T, N, true, true>(from, to, key, query, next, keep, u, reading, keys);
    } else if (in.scales(n)) {
      found = delta_write<T, N, true, false>(from, to, key, query, next, keep, u, reading, keys);
    } else if (in.reads(n)) {
      found = delta_write<T, N, false, true>(from, to, key, query, next, keep, u, reading, keys);
    } else {
      found = delta_write<T, N, false, false>(from, to, key, query, next, keep, u, reading, keys);
    }
  }

  void forward(const T* initial, T* o, T* final, T* borders) const {
    const MatrixShape& s = in.shape;
    Block<T, N> block(s.keys);
    to_block<T, N>(initial + unit * s.size() + first, block.data(), s.keys, s.values, columns);
    Columns found = weigh<T, N>(block.data(), in.key(unit, 0), s.keys), reading;
    for (int64_t n = 0; n < in.writes(); ++n) {
      const int64_t t = n / in.steps;
      if (borders && n % (in.steps * s.chunk) == 0)
        from_block<T, N>(block.data(), borders + (unit * s.chunks() + t / s.chunk) * s.size() + first, s.keys,
                         s.values, columns);
      apply(block.data(), block.data(), n, found, reading);
      if (in.reads(n)) reading.store(o + s.index(unit, t) * s.values + first, columns);
    }
    from_block<T, N>(block.data(), final + unit * s.size() + first, s.keys, s.values, columns);
  }

  // One write backwards. S is the state before it and `found` its f; G is the gradient after it, without its
  // reading, and du the sum of k[i] G[i]; both become those of the write before.
  void back(const DeltaGradients<T>& out, const T* S, T* G, int64_t n, const Columns& found, Columns& du,
            const T* dout, RowSums<T>& key_sums, RowSums<T>& query_sums) const {
    const MatrixShape& s = in.shape;
    const int64_t at = in.write(unit, n), token = s.index(unit, n / in.steps), keys = s.keys;
    const T keep = in.keep(unit, n), beta = in.beta[at];
    const T* __restrict key = in.k + at * keys;
    const T* __restrict query = in.q + token * keys;
    const T* __restrict before = in.key(unit, std::max<int64_t>(n - 1, 0));
    const bool reads = in.reads(n), scales = in.scales(n);
    Columns dread;
    if (reads) {
      dread = Columns::load(dout + token * s.values + first, columns);
      du.add(dot(key, query, keys), dread);
    }
    const Columns missed = miss(n, keep, found);
    Columns u = missed, dvalue = du, dfound = du;
    u.scale(beta);
    dvalue.scale(beta);
    dvalue.store(out.dv + at * s.values + first, columns);
    dfound.scale(-beta * keep);
    put(out.dbeta + at, dot(du, missed));
    typename Lanes<T>::Vector kept = {};
    Columns next;
    for (int64_t i = 0; i < keys; ++i) {
      const Columns row = Columns::load(S + i * Columns::width);
      Columns g = Columns::load(G + i * Columns::width);
      key_sums.set(i, row.products(dfound) + g.products(u));
      query_sums.set(i, row.products(dread));
      kept += g.products(row);
      g.add(query[i], dread);
      g.scale(keep);
      g.add(key[i], dfound);
      g.store(G + i * Columns::width);
      next.add(before[i], g);
    }
    const T* __restrict of_key = key_sums.totals();
    const T common = reads ? dot(u, dread) : T(0);
    for (int64_t i = 0; i < keys; ++i) put(out.dk + at * keys + i, of_key[i] + common * query[i]);
    T of_decay = sum_lanes<T>(kept) - beta * dot(du, found);
    if (reads) {
      const T* __restrict of_query = query_sums.totals();
      for (int64_t i = 0; i < keys; ++i) put(out.dq + token * keys + i, keep * of_query[i] + common * key[i]);
      of_decay += dot(query, of_query, keys);
    }
    if (scales) put(out.ddecay + token, of_decay);
    du = next;
  }

  void backward(const DeltaGradients<T>& out, const T* borders, const T* dout, T* dinitial) const {
    const MatrixShape& s = in.shape;
    const int64_t part = s.chunk * in.steps;
    Block<T, N> states(part * s.keys), G(s.keys);
    std::vector<Columns> found(part);
    RowSums<T> key_sums(s.keys), query_sums(s.keys);
    to_block<T, N>(dinitial + unit * s.size() + first, G.data(), s.keys, s.values, columns);
    Columns du = weigh<T, N>(G.data(), in.key(unit, in.writes() - 1), s.keys), reading;
    for (int64_t c = s.chunks() - 1; c >= 0; --c) {
      const int64_t begin = c * part, end = std::min(in.writes(), begin + part);
      const T* border = borders + (unit * s.chunks() + c) * s.size() + first;
      to_block<T, N>(border, states.data(), s.keys, s.values, columns);
      Columns f = weigh<T, N>(states.data(), in.key(unit, begin), s.keys);
      for (int64_t n = begin; n < end; ++n) {
        T* S = states.data() + (n - begin) * size();
        found[n - begin] = f;
        if (n + 1 < end) apply(S, S + size(), n, f, reading);
      }
      for (int64_t n = end - 1; n >= begin; --n)
        back(out, states.data() + (n - begin) * size(), G.data(), n, found[n - begin], du, dout, key_sums,
             query_sums);
    }
    from_block<T, N>(G.data(), dinitial + unit * s.size() + first, s.keys, s.values, columns);
  }

 private:
  // Sums over all columns come together block by block.
  NERODE_INLINE void put(T* place, T value) const { *place = first ? *place + value : value; }
};

template <class T>
int delta_forward(const T* q, const T* k, const T* v, const T* beta, const T* decay, const T* initial, T* o,
                  T* final, T* borders, int64_t batch, int64_t time, int64_t steps, int64_t heads, int64_t keys,
                  int64_t values, int64_t chunk, int64_t threads) {
  const DeltaInputs<T> in{q, k, v, beta, decay, {batch, time, heads, keys, values, chunk}, steps};
  return run_units(in.shape.units(), threads, steps * in.shape.effort(), [=](int64_t unit) {
    for_each_block<T>(values, [&](auto vectors, int64_t first, int64_t columns) {
      DeltaColumns<T, decltype(vectors)::value>{in, unit, first, columns}.forward(initial, o, final, borders);
    });
  });
}

// `dinitial` comes in as the gradient of the final state and leaves as that of the initial one.
template <class T>
int delta_backward(const T* q, const T* k, const T* v, const T* beta, const T* decay, const T* borders,
                   const T* dout, T* dq, T* dk, T* dv, T* dbeta, T* ddecay, T* dinitial, int64_t batch,
                   int64_t time, int64_t steps, int64_t heads, int64_t keys, int64_t values, int64_t chunk,
                   int64_t threads) {
  const DeltaInputs<T> in{q, k, v, beta, decay, {batch, time, heads, keys, values, chunk}, steps};
  const DeltaGradients<T> out{dq, dk, dv, dbeta, ddecay};
  return run_units(in.shape.units(), threads, 3 * steps * in.shape.effort(), [=](int64_t unit) {
    for_each_block<T>(values, [&](auto vectors, int64_t first, int64_t columns) {
      DeltaColumns<T, decltype(vectors)::value>{in, unit, first, columns}.backward(out, borders, dout, dinitial);
    });
  });
}

}  // namespace nerode
