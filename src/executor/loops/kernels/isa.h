// SPDX-License-Identifier: Apache-2.0
// What a kernel file is compiled against: the namespace and the vectors of its instruction set. Everything in kernel files is
// REPRISE_INLINE, static, or in the level's own namespace, so that no function compiled for one level can serve another.
#pragma once

#ifndef REPRISE_ISA_LEVEL
#error "kernel files are compiled by src/executor/loops/CMakeLists.txt, once per instruction set"
#endif

#if defined(REPRISE_ISA_IS_v3) || defined(REPRISE_ISA_IS_v4)
#include <immintrin.h>
#endif

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/elementary.h"
#include "base/inline.h"

namespace reprise::loops::REPRISE_ISA_LEVEL {

/// A vector register of floats or doubles; plain numbers where the CPU has no fma.
template <class T>
struct Vector;

#if defined(REPRISE_ISA_IS_v4)

template <>
struct Vector<float> {
  static constexpr int kLanes = 16;
  static constexpr int kTileRows = 8, kTileVectors = 3;
  __m512 v;
  REPRISE_INLINE static Vector zero() { return {_mm512_setzero_ps()}; }
  REPRISE_INLINE static Vector all(float x) { return {_mm512_set1_ps(x)}; }
  REPRISE_INLINE static Vector load(const float* p) { return {_mm512_loadu_ps(p)}; }
  REPRISE_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
  REPRISE_INLINE static Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  REPRISE_INLINE friend Vector operator+(Vector a, Vector b) { return {_mm512_add_ps(a.v, b.v)}; }
  REPRISE_INLINE friend Vector operator*(Vector a, Vector b) { return {_mm512_mul_ps(a.v, b.v)}; }
};
template <>
struct Vector<double> {
  static constexpr int kLanes = 8;
  static constexpr int kTileRows = 8, kTileVectors = 3;
  __m512d v;
  REPRISE_INLINE static Vector zero() { return {_mm512_setzero_pd()}; }
  REPRISE_INLINE static Vector all(double x) { return {_mm512_set1_pd(x)}; }
  REPRISE_INLINE static Vector load(const double* p) { return {_mm512_loadu_pd(p)}; }
  REPRISE_INLINE void store(double* p) const { _mm512_storeu_pd(p, v); }
  REPRISE_INLINE static Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
  REPRISE_INLINE friend Vector operator+(Vector a, Vector b) { return {_mm512_add_pd(a.v, b.v)}; }
  REPRISE_INLINE friend Vector operator*(Vector a, Vector b) { return {_mm512_mul_pd(a.v, b.v)}; }
};

#elif defined(REPRISE_ISA_IS_v3)

template <>
struct Vector<float> {
  static constexpr int kLanes = 8;
  static constexpr int kTileRows = 4, kTileVectors = 3;
  __m256 v;
  REPRISE_INLINE static Vector zero() { return {_mm256_setzero_ps()}; }
  REPRISE_INLINE static Vector all(float x) { return {_mm256_set1_ps(x)}; }
  REPRISE_INLINE static Vector load(const float* p) { return {_mm256_loadu_ps(p)}; }
  REPRISE_INLINE void store(float* p) const { _mm256_storeu_ps(p, v); }
  REPRISE_INLINE static Vector fma(Vector a, Vector b, Vector c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  REPRISE_INLINE friend Vector operator+(Vector a, Vector b) { return {_mm256_add_ps(a.v, b.v)}; }
  REPRISE_INLINE friend Vector operator*(Vector a, Vector b) { return {_mm256_mul_ps(a.v, b.v)}; }
};
template <>
struct Vector<double> {
  static constexpr int kLanes = 4;
  static constexpr int kTileRows = 4, kTileVectors = 3;
  __m256d v;
  REPRISE_INLINE static Vector zero() { return {_mm256_setzero_pd()}; }
  REPRISE_INLINE static Vector all(double x) { return {_mm256_set1_pd(x)}; }
  REPRISE_INLINE static Vector load(const double* p) { return {_mm256_loadu_pd(p)}; }
  REPRISE_INLINE void store(double* p) const { _mm256_storeu_pd(p, v); }
  REPRISE_INLINE static Vector fma(Vector a, Vector b, Vector c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
  REPRISE_INLINE friend Vector operator+(Vector a, Vector b) { return {_mm256_add_pd(a.v, b.v)}; }
  REPRISE_INLINE friend Vector operator*(Vector a, Vector b) { return {_mm256_mul_pd(a.v, b.v)}; }
};

#else

template <class T>
struct Vector {
  static constexpr int kLanes = 1;
  static constexpr int kTileRows = 4, kTileVectors = 8;
  T v;
  REPRISE_INLINE static Vector zero() { return {T(0)}; }
  REPRISE_INLINE static Vector all(T x) { return {x}; }
  REPRISE_INLINE static Vector load(const T* p) { return {*p}; }
  REPRISE_INLINE void store(T* p) const { *p = v; }
  REPRISE_INLINE static Vector fma(Vector a, Vector b, Vector c) { return {math::fma(a.v, b.v, c.v)}; }
  REPRISE_INLINE friend Vector operator+(Vector a, Vector b) { return {a.v + b.v}; }
  REPRISE_INLINE friend Vector operator*(Vector a, Vector b) { return {a.v * b.v}; }
};

#endif

REPRISE_INLINE float load_element(const float* p, std::size_t i) { return p[i]; }
REPRISE_INLINE double load_element(const double* p, std::size_t i) { return p[i]; }
REPRISE_INLINE float load_element(const bfloat16* p, std::size_t i) { return to_float(p[i]); }
REPRISE_INLINE void store_element(float* p, std::size_t i, float x) { p[i] = x; }
REPRISE_INLINE void store_element(double* p, std::size_t i, double x) { p[i] = x; }
REPRISE_INLINE void store_element(bfloat16* p, std::size_t i, float x) { p[i] = to_bfloat16(x); }

/// The type elements of E are computed in.
template <class E>
struct ComputeOf {
  using Type = E;
};
template <>
struct ComputeOf<bfloat16> {
  using Type = float;
};
template <class E>
using Compute = typename ComputeOf<E>::Type;

}  // namespace reprise::loops::REPRISE_ISA_LEVEL
