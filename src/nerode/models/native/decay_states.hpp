// A matrix state that fades and is written to: S <- decay S + k v^T, read as o = S^T q.
//
// The decay is one number for each row, or one for all of them.
#pragma once

#include "columns.hpp"

namespace nerode {

template <class T>
struct DecayInputs {
  const T *q, *k, *v, *decay;
  MatrixShape shape;
};

template <class T>
struct DecayGradients {
  T *dq, *dk, *dv, *ddecay;
};

// Sums over the columns for each row, in the backward pass.
template <class T>
struct DecaySums {
  RowSums<T> state_reading, gradient_value, gradient_state;
  explicit DecaySums(int64_t rows) : state_reading(rows), gradient_value(rows), gradient_state(rows) {}
};

// The columns [first, first + columns) of one unit.
template <class T, bool Vector, int N>
struct DecayColumns {
  using Columns = Row<T, N>;
  const DecayInputs<T>& in;
  int64_t unit, first, columns;

  int64_t size() const { return in.shape.keys * Columns::width; }
  int64_t row_of(int64_t t) const { return in.shape.index(unit, t) * in.shape.keys; }
  const T* decay_of(int64_t t) const { return in.decay + (Vector ? row_of(t) : in.shape.index(unit, t)); }
  Columns part(const T* sequence, int64_t t) const {
    return Columns::load(sequence + in.shape.index(unit, t) * in.shape.values + first, columns);
  }

  // The state after token t in `to`, which may be `from`; returns the reading.
  template <bool Read>
  Columns apply(const T* from, T* to, int64_t t) const {
    const T* __restrict keep = decay_of(t);
    const T* __restrict key = in.k + row_of(t);
    const T* __restrict query = in.q + row_of(t);
    const Columns value = part(in.v, t);
    Columns reading;
    for (int64_t i = 0; i < in.shape.keys; ++i) {
      Columns now = Columns::load(from + i * Columns::width);
      now.scale(keep[Vector ? i : 0]);
      now.add(key[i], value);
      now.store(to + i * Columns::width);
      if (Read) reading.add(query[i], now);
    }
    return reading;
  }

  void forward(const T* initial, T* o, T* final, T* borders) const {
    const MatrixShape& s = in.shape;
    Block<T, N> block(s.keys);
    T* S = block.data();
    to_block<T, N>(initial + unit * s.size() + first, S, s.keys, s.values, columns);
    for (int64_t t = 0; t < s.time; ++t) {
      if (borders && t % s.chunk == 0)
        from_block<T, N>(S, borders + (unit * s.chunks() + t / s.chunk) * s.size() + first, s.keys, s.values,
                         columns);
      apply<true>(S, S, t).store(o + s.index(unit, t) * s.values + first, columns);
    }
    from_block<T, N>(S, final + unit * s.size() + first, s.keys, s.values, columns);
  }

  // Token t backwards. S is the state before it; G is the gradient after it, without its reading, and dvalue
  // the sum of k[i] G[i]; both become those of the token before.
  void back(const DecayGradients<T>& out, const T* S, T* G, int64_t t, Columns& dvalue, const T* dout,
            DecaySums<T>& sums) const {
    const int64_t keys = in.shape.keys, row = row_of(t);
    const T* __restrict keep = decay_of(t);
    const T* __restrict query = in.q + row;
    const T* __restrict before = in.k + row_of(std::max<int64_t>(t - 1, 0));
    const Columns dread = part(dout, t), value = part(in.v, t);
    dvalue.add(dot(in.k + row, query, keys), dread);
    dvalue.store(out.dv + in.shape.index(unit, t) * in.shape.values + first, columns);
    Columns next;
    for (int64_t i = 0; i < keys; ++i) {
      const Columns state = Columns::load(S + i * Columns::width);
      Columns g = Columns::load(G + i * Columns::width);
      sums.state_reading.set(i, state.products(dread));
      sums.gradient_value.set(i, g.products(value));
      sums.gradient_state.set(i, g.products(state));
      g.add(query[i], dread);
      g.scale(keep[Vector ? i : 0]);
      g.store(G + i * Columns::width);
      next.add(before[i], g);
    }
    dvalue = next;
    collect(out, t, dot(value, dread), sums);
  }

  void backward(const DecayGradients<T>& out, const T* borders, const T* dout, T* dinitial) const {
    const MatrixShape& s = in.shape;
    Block<T, N> states(s.chunk * s.keys), gradient(s.keys);
    DecaySums<T> sums(s.keys);
    T* G = gradient.data();
    to_block<T, N>(dinitial + unit * s.size() + first, G, s.keys, s.values, columns);
    Columns dvalue = weigh<T, N>(G, in.k + row_of(s.time - 1), s.keys);
    for (int64_t c = s.chunks() - 1; c >= 0; --c) {
      const int64_t begin = c * s.chunk, end = std::min(s.time, begin + s.chunk);
      const T* border = borders + (unit * s.chunks() + c) * s.size() + first;
      to_block<T, N>(border, states.data(), s.keys, s.values, columns);
      for (int64_t t = begin; t + 1 < end; ++t) {
        T* S = states.data() + (t - begin) * size();
        apply<false>(S, S + size(), t);
      }
      for (int64_t t = end - 1; t >= begin; --t)
        back(out, states.data() + (t - begin) * size(), G, t, dvalue, dout, sums);
    }
    from_block<T, N>(G, dinitial + unit * s.size() + first, s.keys, s.values, columns);
  }

 private:
  // The gradients of one token that are sums over all columns; they come together block by block.
  void collect(const DecayGradients<T>& out, int64_t t, T value_read, DecaySums<T>& sums) const {
    const T* __restrict state_reading = sums.state_reading.totals();
    const T* __restrict gradient_value = sums.gradient_value.totals();
    const T* __restrict gradient_state = sums.gradient_state.totals();
    const T* __restrict keep = decay_of(t);
    T total = 0;
    for (int64_t i = 0, at = row_of(t); i < in.shape.keys; ++i, ++at) {
      put(out.dq + at, keep[Vector ? i : 0] * state_reading[i] + in.k[at] * value_read);
      put(out.dk + at, gradient_value[i] + in.q[at] * value_read);
      const T dkeep = gradient_state[i] + in.q[at] * state_reading[i];
      if (Vector) put(out.ddecay + at, dkeep);
      total += dkeep;
    }
    if (!Vector) put(out.ddecay + in.shape.index(unit, t), total);
  }

  NERODE_INLINE void put(T* place, T value) const { *place = first ? *place + value : value; }
};

template <class T, bool Vector>
int decay_forward(const T* q, const T* k, const T* v, const T* decay, const T* initial, T* o, T* final,
                  T* borders, int64_t batch, int64_t time, int64_t heads, int64_t keys, int64_t values,
                  int64_t chunk, int64_t threads) {
  const DecayInputs<T> in{q, k, v, decay, {batch, time, heads, keys, values, chunk}};
  return run_units(in.shape.units(), threads, in.shape.effort(), [=](int64_t unit) {
    for_each_block<T>(values, [&](auto vectors, int64_t first, int64_t columns) {
      DecayColumns<T, Vector, decltype(vectors)::value>{in, unit, first, columns}.forward(initial, o, final,
                                                                                          borders);
    });
  });
}

// `dinitial` comes in as the gradient of the final state and leaves as that of the initial one.
template <class T, bool Vector>
int decay_backward(const T* q, const T* k, const T* v, const T* decay, const T* borders, const T* dout, T* dq,
                   T* dk, T* dv, T* ddecay, T* dinitial, int64_t batch, int64_t time, int64_t heads,
                   int64_t keys, int64_t values, int64_t chunk, int64_t threads) {
  const DecayInputs<T> in{q, k, v, decay, {batch, time, heads, keys, values, chunk}};
  const DecayGradients<T> out{dq, dk, dv, ddecay};
  return run_units(in.shape.units(), threads, 3 * in.shape.effort(), [=](int64_t unit) {
    for_each_block<T>(values, [&](auto vectors, int64_t first, int64_t columns) {
      DecayColumns<T, Vector, decltype(vectors)::value>{in, unit, first, columns}.backward(out, borders, dout,
                                                                                           dinitial);
    });
  });
}

}  // namespace nerode
