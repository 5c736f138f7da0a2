// The C interface: every kernel in float32 and float64, called by ctypes on raw pointers.
//
// The file is compiled once for each instruction set; `nerode_cpu_level` of the plainest build says which of
// them this processor can run.
#include "column_choices.hpp"
#include "decay_chunks.hpp"
#include "decay_states.hpp"
#include "delta_states.hpp"
#include "dense_states.hpp"
#include "diagonal.hpp"
#include "erase_states.hpp"
#include "norms.hpp"
#include "products.hpp"
#include "selective.hpp"

#ifndef NERODE_SOURCE
#define NERODE_SOURCE ""
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))
using I = int64_t;

EXPORT const char* nerode_source() { return NERODE_SOURCE; }

EXPORT int nerode_cpu_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return v4 ? 2 : v3 ? 1 : 0;
#else
  return 0;
#endif
}

#define DIAGONAL(NAME, T, COMPLEX)                                                                           \
  EXPORT int diagonal_forward_##NAME(const T* a, const T* b, const T* initial, T* out, I batch, I time,      \
                                     I channels, I constant, I threads) {                                    \
    return nerode::diagonal_forward<T, COMPLEX>(a, b, initial, out, batch, time, channels, constant, threads); \
  }                                                                                                          \
  EXPORT int diagonal_backward_##NAME(const T* a, const T* initial, const T* out, const T* dout, T* da, T* db, \
                                      T* dinitial, I batch, I time, I channels, I constant, I threads) {     \
    return nerode::diagonal_backward<T, COMPLEX>(a, initial, out, dout, da, db, dinitial, batch, time,       \
                                                 channels, constant, threads);                               \
  }

DIAGONAL(float32, float, false)
DIAGONAL(float64, double, false)
DIAGONAL(complex64, float, true)
DIAGONAL(complex128, double, true)

#define DENSE(NAME, T, COMPLEX)                                                                              \
  EXPORT int dense_forward_##NAME(const T* A, const T* B, const T* initial, T* out, I batch, I time,         \
                                  I blocks, I n, I m, I threads) {                                           \
    return nerode::dense_forward<T, COMPLEX>(A, B, initial, out, batch, time, blocks, n, m, threads);        \
  }                                                                                                          \
  EXPORT int dense_backward_##NAME(const T* A, const T* initial, const T* out, const T* dout, T* dA, T* dB,  \
                                   T* dinitial, I batch, I time, I blocks, I n, I m, I threads) {            \
    return nerode::dense_backward<T, COMPLEX>(A, initial, out, dout, dA, dB, dinitial, batch, time, blocks,  \
                                              n, m, threads);                                                \
  }

DENSE(float32, float, false)
DENSE(float64, double, false)
DENSE(complex64, float, true)
DENSE(complex128, double, true)

#define DECAY(KIND, WAY, NAME, T, VECTOR)                                                                    \
  EXPORT int KIND##_forward_##NAME(const T* q, const T* k, const T* v, const T* decay, const T* initial, T* o,      \
                            T* final, T* borders, I batch, I time, I heads, I keys, I values, I chunk,       \
                            I threads) {                                                                     \
    return nerode::WAY##_forward<T, VECTOR>(q, k, v, decay, initial, o, final, borders, batch, time, heads,  \
                                            keys, values, chunk, threads);                                   \
  }                                                                                                          \
  EXPORT int KIND##_backward_##NAME(const T* q, const T* k, const T* v, const T* decay, const T* borders,           \
                             const T* dout, T* dq, T* dk, T* dv, T* ddecay, T* dinitial, I batch, I time,    \
                             I heads, I keys, I values, I chunk, I threads) {                                \
    return nerode::WAY##_backward<T, VECTOR>(q, k, v, decay, borders, dout, dq, dk, dv, ddecay, dinitial,    \
                                             batch, time, heads, keys, values, chunk, threads);              \
  }

DECAY(scalar_decay, decay, float32, float, false)
DECAY(scalar_decay, decay, float64, double, false)
DECAY(vector_decay, decay, float32, float, true)
DECAY(vector_decay, decay, float64, double, true)
DECAY(scalar_chunks, chunks, float32, float, false)
DECAY(scalar_chunks, chunks, float64, double, false)
DECAY(vector_chunks, chunks, float32, float, true)
DECAY(vector_chunks, chunks, float64, double, true)

#define SELECTIVE(KIND, NAME, T, SIGNED)                                                                     \
  EXPORT int KIND##_forward_##NAME(const T* x, const T* delta, const T* A, const T* B, const T* C,           \
                                   const T* D, const T* initial, T* y, T* final, T* borders, I batch,        \
                                   I time, I channels, I states, I threads) {                                \
    return nerode::selective_forward<T, SIGNED>(x, delta, A, B, C, D, initial, y, final, borders, batch,     \
                                                time, channels, states, threads);                            \
  }                                                                                                          \
  EXPORT int KIND##_backward_##NAME(const T* x, const T* delta, const T* A, const T* B, const T* C,          \
                                    const T* D, const T* borders, const T* dy, T* dx, T* ddelta, T* dA,      \
                                    T* dB, T* dC, T* dD, T* dinitial, I batch, I time, I channels,           \
                                    I states, I threads) {                                                   \
    return nerode::selective_backward<T, SIGNED>(x, delta, A, B, C, D, borders, dy, dx, ddelta, dA, dB, dC,  \
                                                 dD, dinitial, batch, time, channels, states, threads);      \
  }

SELECTIVE(selective, float32, float, false)
SELECTIVE(selective, float64, double, false)
SELECTIVE(signed_selective, float32, float, true)
SELECTIVE(signed_selective, float64, double, true)

#define REAL(NAME, T)                                                                                        \
  EXPORT int delta_forward_##NAME(const T* q, const T* k, const T* v, const T* beta, const T* decay,         \
                                  const T* initial, T* o, T* final, T* borders, I batch, I time, I steps,    \
                                  I heads, I keys, I values, I chunk, I threads) {                           \
    return nerode::delta_forward<T>(q, k, v, beta, decay, initial, o, final, borders, batch, time, steps,    \
                                    heads, keys, values, chunk, threads);                                    \
  }                                                                                                          \
  EXPORT int delta_backward_##NAME(const T* q, const T* k, const T* v, const T* beta, const T* decay,        \
                                   const T* borders, const T* dout, T* dq, T* dk, T* dv, T* dbeta,           \
                                   T* ddecay, T* dinitial, I batch, I time, I steps, I heads, I keys,        \
                                   I values, I chunk, I threads) {                                           \
    return nerode::delta_backward<T>(q, k, v, beta, decay, borders, dout, dq, dk, dv, dbeta, ddecay,         \
                                     dinitial, batch, time, steps, heads, keys, values, chunk, threads);     \
  }                                                                                                          \
  EXPORT int erase_forward_##NAME(const T* q, const T* k, const T* v, const T* decay, const T* lookup,       \
                                  const T* erase, const T* initial, T* o, T* final, T* borders, I batch,     \
                                  I time, I heads, I keys, I values, I chunk, I threads) {                   \
    return nerode::erase_forward<T>(q, k, v, decay, lookup, erase, initial, o, final, borders, batch, time,  \
                                    heads, keys, values, chunk, threads);                                    \
  }                                                                                                          \
  EXPORT int erase_backward_##NAME(const T* q, const T* k, const T* v, const T* decay, const T* lookup,      \
                                   const T* erase, const T* borders, const T* dout, T* dq, T* dk, T* dv,     \
                                   T* ddecay, T* dlookup, T* derase, T* dinitial, I batch, I time, I heads,  \
                                   I keys, I values, I chunk, I threads) {                                   \
    return nerode::erase_backward<T>(q, k, v, decay, lookup, erase, borders, dout, dq, dk, dv, ddecay,       \
                                     dlookup, derase, dinitial, batch, time, heads, keys, values, chunk,     \
                                     threads);                                                               \
  }                                                                                                          \
  EXPORT int choice_forward_##NAME(const T* shares, const T* matrices, const T* diagonal, const T* writes,   \
                                   const T* initial, int32_t* targets, T* out, I batch, I time, I choices,   \
                                   I n, I threads) {                                                         \
    return nerode::choice_forward<T>(shares, matrices, diagonal, writes, initial, targets, out, batch, time, \
                                     choices, n, threads);                                                   \
  }                                                                                                          \
  EXPORT int choice_backward_##NAME(const T* shares, const T* matrices, const T* diagonal, const T* initial, \
                                    const int32_t* targets, const T* out, const T* dout, T* dshares,         \
                                    T* dmatrices, T* ddiagonal, T* dwrites, T* dinitial, I batch, I time,    \
                                    I choices, I n, I threads) {                                             \
    return nerode::choice_backward<T>(shares, matrices, diagonal, initial, targets, out, dout, dshares,      \
                                      dmatrices, ddiagonal, dwrites, dinitial, batch, time, choices, n,      \
                                      threads);                                                              \
  }

REAL(float32, float)
REAL(float64, double)

// The cells have an interface of their own.
#include "cell_calls.hpp"

#define PRODUCTS(NAME, T)                                                                                    \
  EXPORT int product_rows_##NAME(const T* in, const T* weight, const T* bias, T* out, I members, I rows,     \
                                 I inputs, I outputs, I back, I threads) {                                   \
    return nerode::product_rows<T>(in, weight, bias, out, members, rows, inputs, outputs, back, threads);    \
  }                                                                                                          \
  EXPORT int product_sums_##NAME(const T* dout, const T* in, const T* initial, T* dweight, T* dbias,         \
                                 I members, I batch, I time, I inputs, I outputs, I threads) {               \
    return nerode::product_sums<T>(dout, in, initial, dweight, dbias, members, batch, time, inputs, outputs, \
                                   threads);                                                                 \
  }

PRODUCTS(float32, float)
PRODUCTS(float64, double)

#define NORMS(NAME, T)                                                                                       \
  EXPORT int norm_forward_##NAME(const T* x, const T* weight, const T* bias, T* y, T* kept,                  \
                                 const T* epsilon, I members, I rows, I width, I centred, I threads) {       \
    return nerode::norm_forward<T>(x, weight, bias, y, kept, epsilon, members, rows, width, centred,         \
                                   threads);                                                                 \
  }                                                                                                          \
  EXPORT int norm_backward_##NAME(const T* x, const T* weight, const T* kept, const T* dy, T* dx,            \
                                  T* dweight, T* dbias, T* parts, I members, I rows, I width, I centred,     \
                                  I threads) {                                                               \
    return nerode::norm_backward<T>(x, weight, kept, dy, dx, dweight, dbias, parts, members, rows, width,    \
                                    centred, threads);                                                       \
  }

NORMS(float32, float)
NORMS(float64, double)
