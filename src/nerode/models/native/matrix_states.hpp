// Recurrences whose state is a matrix S of shape (keys, values), kept row by row in the first cache.
//
// q, k are (batch, time, heads, keys), v and o (batch, time, heads, values). The backward passes walk from
// the last chunk to the first: each is recomputed from the state at its border, which the forward pass kept.
#pragma once

#include "threads.hpp"
#include "vector_math.hpp"

namespace nerode {

struct MatrixShape {
  int64_t batch, time, heads, keys, values, chunk;
  int64_t units() const { return batch * heads; }
  int64_t size() const { return keys * values; }
  int64_t chunks() const { return (time + chunk - 1) / chunk; }
  int64_t effort() const { return units() * time * size(); }
  // Position of (member, t, head) among all of them.
  int64_t index(int64_t unit, int64_t t) const { return (unit / heads * time + t) * heads + unit % heads; }
};

template <class T>
NERODE_INLINE T dot(const T* __restrict x, const T* __restrict y, int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// out = sum over rows of weight[k] S[k]; four rows at a time spare the traffic of `out`.
template <class T>
NERODE_INLINE void weigh_rows(const T* __restrict S, const T* __restrict weight, T* __restrict out, int64_t keys,
                              int64_t values) {
  std::fill(out, out + values, T(0));
  int64_t k = 0;
  for (; k + 4 <= keys; k += 4) {
    const T *s0 = S + k * values, *s1 = s0 + values, *s2 = s1 + values, *s3 = s2 + values;
    const T w0 = weight[k], w1 = weight[k + 1], w2 = weight[k + 2], w3 = weight[k + 3];
    for (int64_t j = 0; j < values; ++j) out[j] += w0 * s0[j] + w1 * s1[j] + w2 * s2[j] + w3 * s3[j];
  }
  for (; k < keys; ++k)
    for (int64_t j = 0; j < values; ++j) out[j] += weight[k] * S[k * values + j];
}

// The new state decay S + k v^T in `to`, which may be `from`; a scalar decay stands for every row.
template <class T, bool Vector>
NERODE_INLINE void decay_step(const T* from, T* to, const T* decay, const T* __restrict key,
                              const T* __restrict value, int64_t keys, int64_t values) {
  for (int64_t k = 0; k < keys; ++k) {
    const T keep = Vector ? decay[k] : decay[0], write = key[k];
    const T* old = from + k * values;
    T* now = to + k * values;
#pragma omp simd
    for (int64_t j = 0; j < values; ++j) now[j] = keep * old[j] + write * value[j];
  }
}

template <class T, bool Vector>
int decay_forward(const T* q, const T* k, const T* v, const T* decay, const T* initial, T* o, T* final,
                  T* borders, int64_t batch, int64_t time, int64_t heads, int64_t keys, int64_t values,
                  int64_t chunk, int64_t threads) {
  const MatrixShape s{batch, time, heads, keys, values, chunk};
  return run_units(s.units(), threads, s.effort(), [=](int64_t unit) {
    const int64_t size = s.size();
    T* S = final + unit * size;
    std::copy(initial + unit * size, initial + (unit + 1) * size, S);
    for (int64_t t = 0; t < time; ++t) {
      if (borders && t % chunk == 0) std::copy(S, S + size, borders + (unit * s.chunks() + t / chunk) * size);
      const int64_t at = s.index(unit, t);
      decay_step<T, Vector>(S, S, decay + at * (Vector ? keys : 1), k + at * keys, v + at * values, keys, values);
      weigh_rows(S, q + at * keys, o + at * values, keys, values);
    }
  });
}

// `dinitial` comes in as the gradient of the final state and leaves as that of the initial one.
template <class T, bool Vector>
int decay_backward(const T* q, const T* k, const T* v, const T* decay, const T* borders, const T* dout, T* dq,
                   T* dk, T* dv, T* ddecay, T* dinitial, int64_t batch, int64_t time, int64_t heads,
                   int64_t keys, int64_t values, int64_t chunk, int64_t threads) {
  const MatrixShape s{batch, time, heads, keys, values, chunk};
  return run_units(s.units(), threads, 3 * s.effort(), [=](int64_t unit) {
    const int64_t size = s.size();
    std::vector<T> states((chunk + 1) * size);
    T* G = dinitial + unit * size;
    for (int64_t c = s.chunks() - 1; c >= 0; --c) {
      const int64_t begin = c * chunk, end = std::min(time, begin + chunk);
      const T* border = borders + (unit * s.chunks() + c) * size;
      std::copy(border, border + size, states.data());
      for (int64_t t = begin; t < end; ++t) {
        const int64_t at = s.index(unit, t);
        T* old = states.data() + (t - begin) * size;
        decay_step<T, Vector>(old, old + size, decay + at * (Vector ? keys : 1), k + at * keys, v + at * values,
                              keys, values);
      }
      for (int64_t t = end - 1; t >= begin; --t) {
        const int64_t at = s.index(unit, t);
        const T* __restrict old = states.data() + (t - begin) * size;
        const T* __restrict query = q + at * keys;
        const T* __restrict key = k + at * keys;
        const T* __restrict value = v + at * values;
        const T* __restrict dread = dout + at * values;
        const T* __restrict keeps = decay + at * (Vector ? keys : 1);
        T* __restrict dvalue = dv + at * values;
        std::fill(dvalue, dvalue + values, T(0));
        T total = 0;
        for (int64_t i = 0; i < keys; ++i) {
          T* __restrict g = G + i * values;
          const T* __restrict before = old + i * values;
          const T* __restrict after = before + size;
          const T read = query[i], write = key[i], keep = Vector ? keeps[i] : keeps[0];
          T dquery = 0, dkey = 0, dkeep = 0;
#pragma omp simd reduction(+ : dquery, dkey, dkeep)
          for (int64_t j = 0; j < values; ++j) {
            const T now = g[j] + read * dread[j];
            dquery += dread[j] * after[j];
            dkey += now * value[j];
            dkeep += now * before[j];
            dvalue[j] += write * now;
            g[j] = keep * now;
          }
          dq[at * keys + i] = dquery;
          dk[at * keys + i] = dkey;
          if (Vector) ddecay[at * keys + i] = dkeep;
          total += dkeep;
        }
        if (!Vector) ddecay[at] = total;
      }
    }
  });
}

}  // namespace nerode
