// The selective scan: h = exp(delta A) h + delta B x, y = C h + D x, for one state per channel and index n.
// With signed gates, 2 exp(delta A) - 1 stands for exp(delta A).
//
// Arrays are (batch, time, channels) for x, delta, y and (batch, time, states) for B, C; A is
// (channels, states), the state (batch, channels, states). Loops run over channels innermost, so that the sum
// over n needs no reduction inside a vector. Nothing of size time * channels * states is kept: the backward
// pass recomputes it a chunk at a time from the states at the chunk borders.
#pragma once

#include "threads.hpp"
#include "vector_math.hpp"

namespace nerode {

constexpr int64_t SELECTIVE_CHUNK = 16;
constexpr int64_t SELECTIVE_BLOCK = 64;

struct SelectiveShape {
  int64_t batch, time, channels, states;
  int64_t blocks() const { return (channels + SELECTIVE_BLOCK - 1) / SELECTIVE_BLOCK; }
  int64_t chunks() const { return (time + SELECTIVE_CHUNK - 1) / SELECTIVE_CHUNK; }
  int64_t effort() const { return batch * time * channels * states; }
};

// One batch member and one block of channels: where its rows begin, and A by index n.
template <class T>
struct SelectivePart {
  int64_t member, block, first, width;
  std::vector<T> gates;

  SelectivePart(const SelectiveShape& s, const T* A, int64_t unit)
      : member(unit / s.blocks()),
        block(unit % s.blocks()),
        first(block * SELECTIVE_BLOCK),
        width(std::min(SELECTIVE_BLOCK, s.channels - first)),
        gates(s.states * SELECTIVE_BLOCK) {
    transpose(A + first * s.states, gates.data(), s.states);
  }

  // From (channels, states) to (states, block), and back.
  void transpose(const T* from, T* to, int64_t states) const {
    for (int64_t d = 0; d < width; ++d)
      for (int64_t n = 0; n < states; ++n) to[n * SELECTIVE_BLOCK + d] = from[d * states + n];
  }
  void restore(const T* from, T* to, int64_t states) const {
    for (int64_t d = 0; d < width; ++d)
      for (int64_t n = 0; n < states; ++n) to[d * states + n] = from[n * SELECTIVE_BLOCK + d];
  }
};

template <class T, bool Signed>
NERODE_INLINE T selective_gate(T exponent) {
  const T gate = exponential(exponent);
  return Signed ? T(2) * gate - T(1) : gate;
}

template <class T, bool Signed>
int selective_forward(const T* x, const T* delta, const T* A, const T* B, const T* C, const T* D,
                      const T* initial, T* y, T* final, T* borders, int64_t batch, int64_t time,
                      int64_t channels, int64_t states, int64_t threads) {
  const SelectiveShape s{batch, time, channels, states};
  return run_units(batch * s.blocks(), threads, s.effort(), [=](int64_t unit) {
    const SelectivePart<T> part(s, A, unit);
    const int64_t width = part.width, size = states * SELECTIVE_BLOCK;
    std::vector<T> state(size);
    const int64_t home = (part.member * channels + part.first) * states;
    part.transpose(initial + home, state.data(), states);
    T input[SELECTIVE_BLOCK];
    for (int64_t t = 0; t < time; ++t) {
      if (borders && t % SELECTIVE_CHUNK == 0)
        std::copy(state.begin(), state.end(), borders + (unit * s.chunks() + t / SELECTIVE_CHUNK) * size);
      const int64_t row = (part.member * time + t) * channels + part.first;
      const int64_t narrow = (part.member * time + t) * states;
      const T* __restrict dt = delta + row;
      T* __restrict out = y + row;
      for (int64_t d = 0; d < width; ++d) {
        input[d] = dt[d] * x[row + d];
        out[d] = D[part.first + d] * x[row + d];
      }
      for (int64_t n = 0; n < states; ++n) {
        const T b = B[narrow + n], c = C[narrow + n];
        T* __restrict h = state.data() + n * SELECTIVE_BLOCK;
        const T* __restrict gate = part.gates.data() + n * SELECTIVE_BLOCK;
        for (int64_t d = 0; d < width; ++d) {
          h[d] = selective_gate<T, Signed>(dt[d] * gate[d]) * h[d] + b * input[d];
          out[d] += c * h[d];
        }
      }
    }
    part.restore(state.data(), final + home, states);
  });
}

// dA and dD come back for each batch member, dB and dC for each block of channels (blocks, batch, time,
// states): the caller sums them in a fixed order. `dinitial` comes in as the gradient of the final state.
template <class T, bool Signed>
int selective_backward(const T* x, const T* delta, const T* A, const T* B, const T* C, const T* D,
                       const T* borders, const T* dy, T* dx, T* ddelta, T* dA, T* dB, T* dC, T* dD,
                       T* dinitial, int64_t batch, int64_t time, int64_t channels, int64_t states,
                       int64_t threads) {
  const SelectiveShape s{batch, time, channels, states};
  return run_units(batch * s.blocks(), threads, 3 * s.effort(), [=](int64_t unit) {
    const SelectivePart<T> part(s, A, unit);
    const int64_t width = part.width, size = states * SELECTIVE_BLOCK;
    const int64_t home = (part.member * channels + part.first) * states;
    std::vector<T> decays(SELECTIVE_CHUNK * size), pasts(SELECTIVE_CHUNK * size), flow(size), dgates(size);
    part.transpose(dinitial + home, flow.data(), states);
    T input[SELECTIVE_BLOCK], dinput[SELECTIVE_BLOCK], dstep[SELECTIVE_BLOCK], dskip[SELECTIVE_BLOCK] = {};
    for (int64_t chunk = s.chunks() - 1; chunk >= 0; --chunk) {
      const int64_t begin = chunk * SELECTIVE_CHUNK, end = std::min(time, begin + SELECTIVE_CHUNK);
      const T* before = borders + (unit * s.chunks() + chunk) * size;
      std::vector<T> state(before, before + size);
      for (int64_t t = begin; t < end; ++t) {
        const int64_t row = (part.member * time + t) * channels + part.first;
        const T* __restrict dt = delta + row;
        for (int64_t d = 0; d < width; ++d) input[d] = dt[d] * x[row + d];
        for (int64_t n = 0; n < states; ++n) {
          const T b = B[(part.member * time + t) * states + n];
          const int64_t at = (t - begin) * size + n * SELECTIVE_BLOCK;
          T* __restrict h = state.data() + n * SELECTIVE_BLOCK;
          T* __restrict decay = decays.data() + at;
          T* __restrict past = pasts.data() + at;
          const T* __restrict gate = part.gates.data() + n * SELECTIVE_BLOCK;
          for (int64_t d = 0; d < width; ++d) {
            decay[d] = selective_gate<T, Signed>(dt[d] * gate[d]);
            past[d] = h[d];
            h[d] = decay[d] * h[d] + b * input[d];
          }
        }
      }
      for (int64_t t = end - 1; t >= begin; --t) {
        const int64_t row = (part.member * time + t) * channels + part.first;
        const int64_t narrow = (part.member * time + t) * states;
        const T* __restrict dt = delta + row;
        const T* __restrict dout = dy + row;
        for (int64_t d = 0; d < width; ++d) {
          input[d] = dt[d] * x[row + d];
          dinput[d] = dstep[d] = T(0);
        }
        for (int64_t n = 0; n < states; ++n) {
          const T b = B[narrow + n], c = C[narrow + n];
          const int64_t at = (t - begin) * size + n * SELECTIVE_BLOCK;
          const T* __restrict decay = decays.data() + at;
          const T* __restrict past = pasts.data() + at;
          const T* __restrict gate = part.gates.data() + n * SELECTIVE_BLOCK;
          T* __restrict g = flow.data() + n * SELECTIVE_BLOCK;
          T* __restrict dgate = dgates.data() + n * SELECTIVE_BLOCK;
          T db = 0, dc = 0;
#pragma omp simd reduction(+ : db, dc)
          for (int64_t d = 0; d < width; ++d) {
            const T now = g[d] + dout[d] * c;
            dc += dout[d] * (decay[d] * past[d] + b * input[d]);
            db += now * input[d];
            // The derivative of the gate is exp or 2 exp, which is the signed gate plus 1.
            const T dexponent = now * past[d] * (Signed ? decay[d] + T(1) : decay[d]);
            dstep[d] += dexponent * gate[d];
            dgate[d] += dexponent * dt[d];
            dinput[d] += now * b;
            g[d] = now * decay[d];
          }
          const int64_t partial = part.block * batch * time * states + narrow + n;
          dB[partial] = db;
          dC[partial] = dc;
        }
        for (int64_t d = 0; d < width; ++d) {
          ddelta[row + d] = dstep[d] + dinput[d] * x[row + d];
          dx[row + d] = dinput[d] * dt[d] + D[part.first + d] * dout[d];
          dskip[d] += dout[d] * x[row + d];
        }
      }
    }
    part.restore(flow.data(), dinitial + home, states);
    part.restore(dgates.data(), dA + home, states);
    std::copy(dskip, dskip + width, dD + part.member * channels + part.first);
  });
}

}  // namespace nerode
