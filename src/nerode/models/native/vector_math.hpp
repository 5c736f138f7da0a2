// exp, sigmoid and tanh without branches, so that a loop over them becomes vector code.
//
// libm's versions are accurate but scalar. These are within a few units in the last place, saturate to the
// same limits (0, 1, infinity) and let NaN through.
#pragma once

#include <cstdint>

namespace nerode {

#define NERODE_INLINE inline __attribute__((always_inline))

template <class T>
struct Format;

template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int mantissa = 23;
  static constexpr Bits bias = 127;
  // 1.5 * 2^mantissa: adding it rounds to an integer and leaves that integer in the low bits.
  static constexpr float rounder = 12582912.0f;
  static constexpr float lowest = -104.0f, highest = 89.0f, flat = -20.0f;
  static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  static constexpr int degree = 7, terms = 8;
};

template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int mantissa = 52;
  static constexpr Bits bias = 1023;
  static constexpr double rounder = 6755399441055744.0;
  static constexpr double lowest = -746.0, highest = 710.0, flat = -40.0;
  static constexpr double ln2_high = 6.93145751953125e-1, ln2_low = 1.42860682030941723212e-6;
  static constexpr int degree = 13, terms = 17;
};

// 1 / k!, for the Taylor polynomial; |r| <= ln(2) / 2 makes the next term smaller than half a unit.
constexpr double inverse_factorial(int k) {
  double product = 1;
  for (int i = 2; i <= k; ++i) product *= i;
  return 1 / product;
}

template <class T, int K>
NERODE_INLINE T taylor_tail(T r) {
  if constexpr (K == Format<T>::degree) {
    return static_cast<T>(inverse_factorial(K));
  } else {
    return taylor_tail<T, K + 1>(r) * r + static_cast<T>(inverse_factorial(K));
  }
}

// Writes x = n ln 2 + r. The bits of `shifted` hold n, offset by those of the rounder.
template <class T>
NERODE_INLINE T reduce(T x, typename Format<T>::Bits& n) {
  using F = Format<T>;
  const T shifted = x * static_cast<T>(1.4426950408889634) + F::rounder;
  n = __builtin_bit_cast(typename F::Bits, shifted) - __builtin_bit_cast(typename F::Bits, F::rounder);
  const T whole = shifted - F::rounder;
  return (x - whole * F::ln2_high) - whole * F::ln2_low;
}

template <class T>
NERODE_INLINE T power_of_two(typename Format<T>::Bits n) {
  using F = Format<T>;
  return __builtin_bit_cast(T, (n + F::bias) << F::mantissa);
}

template <class T>
NERODE_INLINE T exponential(T x) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  x = x < F::lowest ? F::lowest : x;
  x = x > F::highest ? F::highest : x;
  Bits n;
  const T r = reduce(x, n);
  const T value = taylor_tail<T, 1>(r) * r + T(1);
  // Two factors, because 2^n alone leaves the range before the product overflows or underflows.
  constexpr Bits lift = 1 << 12;
  const Bits half = ((n + lift) >> 1) - lift / 2;
  return value * power_of_two<T>(half) * power_of_two<T>(n - half);
}

template <class T>
NERODE_INLINE T sigmoid(T x) {
  return T(1) / (T(1) + exponential(-x));
}

template <class T, int K>
NERODE_INLINE T inverse_tangent_tail(T square) {
  if constexpr (K == Format<T>::terms) {
    return T(1) / (2 * K + 1);
  } else {
    return inverse_tangent_tail<T, K + 1>(square) * square + T(1) / (2 * K + 1);
  }
}

// log(1 + y) for y in [0, 1], as 2 artanh(y / (2 + y)).
template <class T>
NERODE_INLINE T log_one_plus(T y) {
  const T s = y / (T(2) + y);
  return T(2) * s * inverse_tangent_tail<T, 0>(s * s);
}

// log sigmoid(x); `slope` becomes its derivative, sigmoid(-x).
template <class T>
NERODE_INLINE T log_sigmoid(T x, T& slope) {
  const T y = exponential(x < 0 ? x : -x);
  slope = (x < 0 ? T(1) : y) / (T(1) + y);
  return (x < 0 ? x : T(0)) - log_one_plus(y);
}

template <class T>
NERODE_INLINE T hyperbolic_tangent(T x) {
  using F = Format<T>;
  using Bits = typename F::Bits;
  constexpr Bits sign = Bits(1) << (8 * sizeof(T) - 1);
  const Bits bits = __builtin_bit_cast(Bits, x);
  T twice = T(-2) * __builtin_bit_cast(T, bits & ~sign);
  twice = twice < F::flat ? F::flat : twice;
  Bits n;
  const T r = reduce(twice, n);
  const T scale = power_of_two<T>(n);
  // e^twice - 1 without cancellation near zero, where n = 0.
  const T below = scale * (taylor_tail<T, 1>(r) * r) + (scale - T(1));
  const T size = -below / (T(2) + below);
  return __builtin_bit_cast(T, __builtin_bit_cast(Bits, size) | (bits & sign));
}

}  // namespace nerode
