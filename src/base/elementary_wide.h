// SPDX-License-Identifier: Apache-2.0
// Elementary functions whose float form is computed in double by our own polynomials and rounded once: sin, cos, pow, and the logarithm
// behind normal draws. As in elementary.h the bits do not depend on the machine; the double forms are libm's.
#pragma once

#include "base/elementary.h"

namespace reprise::math {

/// An angle as quadrant * pi/2 + r, |r| <= pi/4.
struct Quadrant {
  std::uint32_t quadrant;
  double r;
};

/// The first 256 bits of 2/pi after the point.
inline constexpr std::uint32_t kTwoOverPi[8] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                                0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};

/// Reduces a finite |x| >= 2^20 (Payne and Hanek, 1983): only the bits of 2/pi that matter modulo 4 are multiplied.
REPRISE_INLINE Quadrant reduce_large_angle(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint64_t mantissa = (bits & 0x7FFFFFu) | 0x800000u;
  const int exponent = static_cast<int>((bits >> 23) & 0xFFu) - 150;  // |x| = mantissa * 2^exponent, -3 <= exponent <= 104
  // With the bits of 2/pi from `first` on as a 96-bit window W, |x| * 2/pi = mantissa * W * 2^(exponent - first - 96) modulo 4:
  // the bits before `first` give multiples of 4, those behind the window less than 2^-70.
  const int first = exponent < 2 ? 0 : exponent - 2;
  const int word = first / 32;
  const int shift = first % 32;
  std::uint64_t window[3];
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t pair = (static_cast<std::uint64_t>(kTwoOverPi[word + i]) << 32) | kTwoOverPi[word + i + 1];
    window[i] = (pair >> (32 - shift)) & 0xFFFFFFFFu;
  }
  const std::uint64_t low = mantissa * window[2];
  const std::uint64_t middle = mantissa * window[1] + (low >> 32);
  const std::uint64_t high = mantissa * window[0] + (middle >> 32);
  const int drop = 2 - (exponent - first);  // 0 to 5
  const std::uint64_t aligned = (high << (32 - drop)) | ((middle & 0xFFFFFFFFu) >> drop);  // quadrant in the top two bits
  std::uint32_t quadrant = static_cast<std::uint32_t>(aligned >> 62);
  auto fraction = static_cast<std::int64_t>(aligned << 2);  // in units of 2^-64 quadrants, as a signed number: r in [-1/2, 1/2)
  quadrant += fraction < 0 ? 1u : 0u;
  double r = static_cast<double>(fraction) * 0x1p-64 * 1.5707963267948966;
  if (x < 0.0f) {
    quadrant = 0u - quadrant;
    r = -r;
  }
  return {quadrant, r};
}

REPRISE_INLINE Quadrant reduce_angle(float x) {
  if (abs(x) >= 0x1p20f) return reduce_large_angle(x);
  const double wide = x;
  const double shifted = fma(wide, 0.63661977236758134, 6755399441055744.0);  // 1.5 * 2^52
  const double n = shifted - 6755399441055744.0;
  const double r = fma(n, -0x1.1a62633145c07p-54, fma(n, -0x1.921fb54442d18p+0, wide));
  return {static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, shifted)), r};
}

/// sin(quadrant * pi/2 + r), to 1e-14.
REPRISE_INLINE double sin_of(Quadrant angle) {
  const double z = angle.r * angle.r;
  const double s =
      fma(fma(fma(fma(-2.47575410480383185e-8, z, 2.7555299815101358e-6), z, -1.98412635428856569e-4), z, 8.33333332474114845e-3), z,
          -0.166666666666284878);
  const double c = fma(fma(fma(fma(2.06427848056336652e-9, z, -2.75554866243252781e-7), z, 2.48015805049139213e-5), z,
                           -1.38888888771468842e-3), z, 0.0416666666665928972);
  const double sine = fma(angle.r * z, s, angle.r);
  const double cosine = fma(z * z, c, fma(z, -0.5, 1.0));
  const double value = angle.quadrant & 1u ? cosine : sine;
  return angle.quadrant & 2u ? -value : value;
}

REPRISE_INLINE float sin(float x) {
  if (!(abs(x) < kInfinity)) return kNan;
  return x == 0.0f ? x : static_cast<float>(sin_of(reduce_angle(x)));
}
REPRISE_INLINE double sin(double x) { return __builtin_sin(x); }

REPRISE_INLINE float cos(float x) {
  if (!(abs(x) < kInfinity)) return kNan;
  Quadrant angle = reduce_angle(x);
  angle.quadrant += 1u;
  return static_cast<float>(sin_of(angle));
}
REPRISE_INLINE double cos(double x) { return __builtin_cos(x); }

/// log2 of a normal positive double, to 1e-15.
REPRISE_INLINE double log2_polynomial(double x) {
  const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, x);
  const std::int64_t e = static_cast<std::int64_t>(bits - 0x3FE6A09E667F3BCDu) >> 52;
  const double m = __builtin_bit_cast(double, bits - (static_cast<std::uint64_t>(e) << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  const double low = fma(fma(fma(0.242951180201415677, z, 0.261441312889114861), z, 0.320616479973185638), z, 0.412198400729242073);
  const double p = fma(fma(fma(low, z, 0.577078017254854562), z, 0.961796693924314509), z, 2.88539008177792732);
  return fma(s, p, static_cast<double>(e));
}

/// 2^t for t in [-1000, 1000], to 2e-14 relative.
REPRISE_INLINE double exp2_polynomial(double t) {
  const double shifted = t + 6755399441055744.0;
  const double r = t - (shifted - 6755399441055744.0);
  const std::uint64_t k = __builtin_bit_cast(std::uint64_t, shifted) - 0x4338000000000000u;
  const double low = fma(fma(fma(fma(1.01503436225101871e-7, r, 1.32594056616725911e-6), r, 1.52529847974443688e-5), r,
                             1.54034349479878989e-4), r, 1.33335576176887889e-3);
  const double p = fma(fma(fma(fma(fma(low, r, 9.6181291920670864e-3), r, 0.0555041086686849382), r, 0.240226506956496547), r,
                           0.693147180559870987), r, 1.0);
  return p * __builtin_bit_cast(double, (k + 1023u) << 52);
}

/// x^y as IEEE 754 defines it.
REPRISE_INLINE float pow(float x, float y) {
  const float size = abs(x);
  const double finite = size == kInfinity || size == 0.0f ? 1.0 : static_cast<double>(size);
  const double log = size == 0.0f        ? -static_cast<double>(kInfinity)
                     : size == kInfinity ? static_cast<double>(kInfinity)
                                         : log2_polynomial(finite);
  const double t = static_cast<double>(y) * log;
  const double low = t < -200.0 ? -200.0 : t;
  const float power = static_cast<float>(exp2_polynomial(low > 200.0 ? 200.0 : low));
  const float with_nan = t != t ? kNan : x != x ? kNan : power;
  const bool integer = round_even(y) == y;
  const bool odd = integer & (round_even(0.5f * y) != 0.5f * y) & (abs(y) < 0x1p24f);
  const bool negative = (__builtin_bit_cast(std::uint32_t, x) >> 31) != 0u;
  const float with_sign = negative & odd ? -with_nan : with_nan;
  const float in_domain = (x < 0.0f) & (x > -kInfinity) & !integer ? kNan : with_sign;
  const bool one = (y == 0.0f) | (x == 1.0f) | ((x == -1.0f) & (abs(y) == kInfinity));
  return one ? 1.0f : in_domain;
}
REPRISE_INLINE double pow(double x, double y) { return __builtin_pow(x, y); }

/// The remainder of a / b with the sign of b (exact, or off by one rounding where the signs differ).
REPRISE_INLINE float remainder(float a, float b) {
  const float r = __builtin_fmodf(a, b);
  return (r != 0.0f) & ((r < 0.0f) != (b < 0.0f)) ? r + b : r;
}
REPRISE_INLINE double remainder(double a, double b) {
  const double r = __builtin_fmod(a, b);
  return (r != 0.0) & ((r < 0.0) != (b < 0.0)) ? r + b : r;
}

/// Two independent normal draws (Box and Muller, 1958): sqrt(-2 ln u1) times cos and sin of 2 pi u2, u1 = (a + 1) 2^-32, u2 = b 2^-32.
struct NormalPair {
  double first, second;
};

REPRISE_INLINE NormalPair normal_pair(std::uint32_t a, std::uint32_t b) {
  const double u1 = (static_cast<double>(a) + 1.0) * 0x1p-32;
  const double radius = __builtin_sqrt(-1.3862943611198906 * log2_polynomial(u1));  // -2 ln u = -2 ln 2 log2 u
  const std::uint32_t nearest = (b + 0x20000000u) >> 30;                             // quadrants of 2 pi b / 2^32
  const auto rest = static_cast<std::int32_t>(b - (nearest << 30));
  const Quadrant sine{nearest, static_cast<double>(rest) * 0x1p-30 * 1.5707963267948966};
  return {radius * sin_of({sine.quadrant + 1u, sine.r}), radius * sin_of(sine)};
}

}  // namespace reprise::math
