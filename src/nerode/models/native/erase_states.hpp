// A matrix state with a decay for each row and a key of its own for what is taken away:
// S <- decay S - erase f^T + k v^T with f = S^T lookup, the state before the token; read as o = S^T q.
//
// One pass over S makes the new state, reads it and finds f of the next token.
#pragma once

#include "columns.hpp"

namespace nerode {

template <class T>
struct EraseInputs {
  const T *q, *k, *v, *decay, *lookup, *erase;
  MatrixShape shape;
};

template <class T>
struct EraseGradients {
  T *dq, *dk, *dv, *ddecay, *dlookup, *derase;
};

// Sums over the columns for each row, in the backward pass.
template <class T>
struct EraseSums {
  RowSums<T> state_reading, gradient_value, gradient_state, gradient_found, state_found;
  explicit EraseSums(int64_t rows)
      : state_reading(rows), gradient_value(rows), gradient_state(rows), gradient_found(rows), state_found(rows) {}
};

// The columns [first, first + columns) of one unit.
template <class T, int N>
struct EraseColumns {
  using Columns = Row<T, N>;
  using Vector = typename Lanes<T>::Vector;
  const EraseInputs<T>& in;
  int64_t unit, first, columns;

  int64_t size() const { return in.shape.keys * Columns::width; }
  int64_t row_of(int64_t t) const { return in.shape.index(unit, t) * in.shape.keys; }
  Columns part(const T* sequence, int64_t t) const {
    return Columns::load(sequence + in.shape.index(unit, t) * in.shape.values + first, columns);
  }

  // The state after token t in `to`, which may be `from`; `found` is its f and becomes that of the next one.
  Columns apply(const T* from, T* to, int64_t t, Columns& found) const {
    const int64_t keys = in.shape.keys, row = row_of(t);
    const T* __restrict next = in.lookup + row_of(std::min(t + 1, in.shape.time - 1));
    const Columns value = part(in.v, t);
    Columns reading, next_found;
    for (int64_t i = 0; i < keys; ++i) {
      Columns now = Columns::load(from + i * Columns::width);
      now.scale(in.decay[row + i]);
      now.add(-in.erase[row + i], found);
      now.add(in.k[row + i], value);
      now.store(to + i * Columns::width);
      reading.add(in.q[row + i], now);
      next_found.add(next[i], now);
    }
    found = next_found;
    return reading;
  }

  void forward(const T* initial, T* o, T* final, T* borders) const {
    const MatrixShape& s = in.shape;
    Block<T, N> block(s.keys);
    T* S = block.data();
    to_block<T, N>(initial + unit * s.size() + first, S, s.keys, s.values, columns);
    Columns found = weigh<T, N>(S, in.lookup + row_of(0), s.keys);
    for (int64_t t = 0; t < s.time; ++t) {
      if (borders && t % s.chunk == 0)
        from_block<T, N>(S, borders + (unit * s.chunks() + t / s.chunk) * s.size() + first, s.keys, s.values,
                         columns);
      apply(S, S, t, found).store(o + s.index(unit, t) * s.values + first, columns);
    }
    from_block<T, N>(S, final + unit * s.size() + first, s.keys, s.values, columns);
  }

  // Token t backwards. S is the state before it and `found` its f; G is the gradient after it, without its
  // reading. dvalue and taken are the sums of k[i] G[i] and erase[i] G[i]. All become those of the token before.
  void back(const EraseGradients<T>& out, const T* S, T* G, int64_t t, const Columns& found, Columns& dvalue,
            Columns& taken, const T* dout, EraseSums<T>& sums) const {
    const int64_t keys = in.shape.keys, row = row_of(t), before = row_of(std::max<int64_t>(t - 1, 0));
    const T* __restrict query = in.q + row;
    const Columns dread = part(dout, t), value = part(in.v, t);
    dvalue.add(dot(in.k + row, query, keys), dread);
    dvalue.store(out.dv + in.shape.index(unit, t) * in.shape.values + first, columns);
    taken.add(dot(in.erase + row, query, keys), dread);
    Columns dfound = taken, next_dvalue, next_taken;
    dfound.scale(-1);
    for (int64_t i = 0; i < keys; ++i) {
      const Columns state = Columns::load(S + i * Columns::width);
      Columns g = Columns::load(G + i * Columns::width);
      sums.state_reading.set(i, state.products(dread));
      sums.state_found.set(i, state.products(dfound));
      sums.gradient_value.set(i, g.products(value));
      sums.gradient_state.set(i, g.products(state));
      sums.gradient_found.set(i, g.products(found));
      g.add(query[i], dread);
      g.scale(in.decay[row + i]);
      g.add(in.lookup[row + i], dfound);
      g.store(G + i * Columns::width);
      next_dvalue.add(in.k[before + i], g);
      next_taken.add(in.erase[before + i], g);
    }
    dvalue = next_dvalue;
    taken = next_taken;
    collect(out, row, dot(value, dread), dot(found, dread), sums);
  }

  void backward(const EraseGradients<T>& out, const T* borders, const T* dout, T* dinitial) const {
    const MatrixShape& s = in.shape;
    Block<T, N> states(s.chunk * s.keys), gradient(s.keys);
    std::vector<Columns> found(s.chunk);
    EraseSums<T> sums(s.keys);
    T* G = gradient.data();
    to_block<T, N>(dinitial + unit * s.size() + first, G, s.keys, s.values, columns);
    Columns dvalue = weigh<T, N>(G, in.k + row_of(s.time - 1), s.keys);
    Columns taken = weigh<T, N>(G, in.erase + row_of(s.time - 1), s.keys);
    for (int64_t c = s.chunks() - 1; c >= 0; --c) {
      const int64_t begin = c * s.chunk, end = std::min(s.time, begin + s.chunk);
      const T* border = borders + (unit * s.chunks() + c) * s.size() + first;
      to_block<T, N>(border, states.data(), s.keys, s.values, columns);
      Columns f = weigh<T, N>(states.data(), in.lookup + row_of(begin), s.keys);
      for (int64_t t = begin; t < end; ++t) {
        T* S = states.data() + (t - begin) * size();
        found[t - begin] = f;
        if (t + 1 < end) apply(S, S + size(), t, f);
      }
      for (int64_t t = end - 1; t >= begin; --t)
        back(out, states.data() + (t - begin) * size(), G, t, found[t - begin], dvalue, taken, dout, sums);
    }
    from_block<T, N>(G, dinitial + unit * s.size() + first, s.keys, s.values, columns);
  }

 private:
  // The gradients of one token that are sums over all columns; they come together block by block.
  void collect(const EraseGradients<T>& out, int64_t row, T value_read, T found_read, EraseSums<T>& sums) const {
    const T* __restrict state_reading = sums.state_reading.totals();
    const T* __restrict gradient_value = sums.gradient_value.totals();
    const T* __restrict gradient_state = sums.gradient_state.totals();
    const T* __restrict gradient_found = sums.gradient_found.totals();
    const T* __restrict state_found = sums.state_found.totals();
    for (int64_t i = 0, at = row; i < in.shape.keys; ++i, ++at) {
      const T query = in.q[at];
      const T dquery = in.decay[at] * state_reading[i] - in.erase[at] * found_read + in.k[at] * value_read;
      put(out.dq + at, dquery);
      put(out.dk + at, gradient_value[i] + query * value_read);
      put(out.ddecay + at, gradient_state[i] + query * state_reading[i]);
      put(out.derase + at, -gradient_found[i] - query * found_read);
      put(out.dlookup + at, state_found[i]);
    }
  }

  NERODE_INLINE void put(T* place, T value) const { *place = first ? *place + value : value; }
};

template <class T>
int erase_forward(const T* q, const T* k, const T* v, const T* decay, const T* lookup, const T* erase,
                  const T* initial, T* o, T* final, T* borders, int64_t batch, int64_t time, int64_t heads,
                  int64_t keys, int64_t values, int64_t chunk, int64_t threads) {
  const EraseInputs<T> in{q, k, v, decay, lookup, erase, {batch, time, heads, keys, values, chunk}};
  return run_units(in.shape.units(), threads, in.shape.effort(), [=](int64_t unit) {
    for_each_block<T>(values, [&](auto vectors, int64_t first, int64_t columns) {
      EraseColumns<T, decltype(vectors)::value>{in, unit, first, columns}.forward(initial, o, final, borders);
    });
  });
}

// `dinitial` comes in as the gradient of the final state and leaves as that of the initial one.
template <class T>
int erase_backward(const T* q, const T* k, const T* v, const T* decay, const T* lookup, const T* erase,
                   const T* borders, const T* dout, T* dq, T* dk, T* dv, T* ddecay, T* dlookup, T* derase,
                   T* dinitial, int64_t batch, int64_t time, int64_t heads, int64_t keys, int64_t values,
                   int64_t chunk, int64_t threads) {
  const EraseInputs<T> in{q, k, v, decay, lookup, erase, {batch, time, heads, keys, values, chunk}};
  const EraseGradients<T> out{dq, dk, dv, ddecay, dlookup, derase};
  return run_units(in.shape.units(), threads, 3 * in.shape.effort(), [=](int64_t unit) {
    for_each_block<T>(values, [&](auto vectors, int64_t first, int64_t columns) {
      EraseColumns<T, decltype(vectors)::value>{in, unit, first, columns}.backward(out, borders, dout, dinitial);
    });
  });
}

}  // namespace nerode
