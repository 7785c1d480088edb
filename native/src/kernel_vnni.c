/* The AVX-512 VNNI kernel: vpdpbusd on 16 outputs a register, tiles of points by output registers. */
#include "kernel.h"

#include <immintrin.h>
#include <string.h>

#define GO_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#include "kernel_loops.h"

/* ---- tiles ---------------------------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline)) GO_TARGET

INLINE __m512i broadcast4(const uint8_t *at) {
  int32_t four;
  memcpy(&four, at, sizeof four);
  return _mm512_set1_epi32(four);
}

/* acc += x w in place. The intrinsic does the same, but gcc 12 then copies and spills accumulators (62 % of the peak
 * in place of 90 %). */
INLINE void multiply_add(__m512i *acc, __m512i x, __m512i w) { __asm__("vpdpbusd %2, %1, %0" : "+v"(*acc) : "v"(x), "v"(w)); }

/* Requantises the sums of 16 outputs of point k and stores them. */
INLINE void finish(const go_conv_run *run, __m512i sums, int32_t k, int32_t output) {
  const go_conv *conv = run->conv;
  __m512i shift = _mm512_loadu_si512(conv->shift + output);
  __m256i m = _mm256_loadu_si256((const __m256i *)(conv->multiplier + output));
  __m256i r = _mm256_mulhrs_epi16(_mm512_cvtsepi32_epi16(_mm512_srav_epi32(sums, shift)), m);
  if (run->stream) {
    int16_t *stream = run->stream + (size_t)k * (size_t)conv->outputs + output;
    if (run->add) r = _mm256_adds_epi16(_mm256_loadu_si256((const __m256i *)stream), r);
    _mm256_storeu_si256((__m256i *)stream, r);
    r = _mm256_adds_epi16(r, _mm256_loadu_si256((const __m256i *)(run->norm->bias + output)));
    r = _mm256_mulhrs_epi16(r, _mm256_loadu_si256((const __m256i *)(run->norm->multiplier + output)));
  }
  uint8_t *out = run->out + (size_t)run->at[k] * (size_t)conv->outputs + output;
  r = _mm256_max_epi16(r, _mm256_setzero_si256());
  _mm_storeu_si128((__m128i *)out, _mm256_cvtsepi16_epi8(r)); /* saturates at 127 */
}

/* P points from `first` on, V registers of outputs from register `vector` on; U groups of 4 inputs are unrolled. */
INLINE void tile(const int P, const int V, const int U, const go_conv_run *run, int32_t first, int32_t vector) {
  const go_conv *conv = run->conv;
  const int32_t groups = conv->inputs / 4;
  const size_t register_bytes = (size_t)(conv->taps * groups) * 64;
  const int8_t *w = conv->packed + (size_t)vector * register_bytes;
  size_t point[16];
  __m512i acc[16][4];
#pragma GCC unroll 16
  for (int p = 0; p < P; p++) {
    point[p] = (size_t)run->at[first + p] * (size_t)conv->inputs;
    const int32_t *bias = run->bias + (size_t)run->image[first + p] * (size_t)run->bias_stride + vector * GO_NET_VECTOR;
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) acc[p][v] = _mm512_loadu_si512(bias + v * GO_NET_VECTOR);
  }
  for (int32_t t = 0; t < conv->taps; t++) {
    const uint8_t *in = run->in + run->tap_offset[t];
    for (int32_t g = 0; g < groups; g += U, in += 4 * U) {
#pragma GCC unroll 4
      for (int u = 0; u < U; u++, w += 64) {
        __m512i weights[4];
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) weights[v] = _mm512_loadu_si512(w + (size_t)v * register_bytes);
#pragma GCC unroll 16
        for (int p = 0; p < P; p++) {
          __m512i x = broadcast4(in + point[p] + 4 * u);
#pragma GCC unroll 4
          for (int v = 0; v < V; v++) multiply_add(&acc[p][v], x, weights[v]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < P; p++)
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) finish(run, acc[p][v], first + p, (vector + v) * GO_NET_VECTOR);
}

/* ---- convolution ---------------------------------------------------------------------------------------- */

typedef void tile_function(const go_conv_run *run, int32_t first, int32_t vector);

#define TILE(P, V)                                                                                     \
  static GO_TARGET void tile_##P##x##V(const go_conv_run *run, int32_t first, int32_t vector) {        \
    if (run->conv->inputs % 16 == 0)                                                                   \
      tile(P, V, 4, run, first, vector);                                                               \
    else                                                                                               \
      tile(P, V, 1, run, first, vector);                                                               \
  }
TILE(16, 1)
TILE(15, 1)
TILE(14, 1)
TILE(13, 1)
TILE(12, 1)
TILE(11, 1)
TILE(10, 1)
TILE(12, 2)
TILE(11, 2)
TILE(10, 2)
TILE(9, 2)
TILE(9, 3)
TILE(8, 3)
TILE(7, 3)
TILE(6, 4)
TILE(5, 4)

enum { REGISTERS_MAX = 4, POINTS_MAX = 16 };

/* tiles[registers][points], as wide as the accumulators allow. */
static tile_function *const tiles[REGISTERS_MAX + 1][POINTS_MAX + 1] = {
    [1] = {[10] = tile_10x1, tile_11x1, tile_12x1, tile_13x1, tile_14x1, tile_15x1, tile_16x1},
    [2] = {[9] = tile_9x2, tile_10x2, tile_11x2, tile_12x2},
    [3] = {[7] = tile_7x3, tile_8x3, tile_9x3},
    [4] = {[5] = tile_5x4, tile_6x4},
};
static const int32_t widest[REGISTERS_MAX + 1] = {[1] = 16, [2] = 12, [3] = 9, [4] = 6};

/* Some registers of outputs of all points, by as few tiles as can be, of sizes that differ by one at most: only where that is
 * smaller than any tile does one run past the last point. */
static void cover(const go_conv_run *run, int32_t vector, int32_t registers) {
  int32_t left = (run->points + widest[registers] - 1) / widest[registers];
  for (int32_t first = 0; first < run->points; left--) {
    int32_t points = (run->points - first + left - 1) / left;
    while (!tiles[registers][points]) points++;
    tiles[registers][points](run, first, vector);
    first += points;
  }
}

static void conv_vnni(const go_conv_run *run) {
  int32_t left = run->conv->outputs / GO_NET_VECTOR;
  for (int32_t vector = 0; left > 0;) {
    int32_t registers = left == 1 || left == 2 || left == 4 ? left : 3;
    cover(run, vector, registers);
    vector += registers, left -= registers;
  }
}

/* ---- peak ----------------------------------------------------------------------------------------------- */

static GO_TARGET int64_t peak_vnni(int64_t steps) {
  enum { CHAINS = 12 };
  __m512i acc[CHAINS], x = _mm512_set1_epi8(1), w = _mm512_set1_epi8((char)(steps & 1));
#pragma GCC unroll 12
  for (int i = 0; i < CHAINS; i++) acc[i] = _mm512_setzero_si512();
  for (int64_t s = 0; s < steps; s++) {
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++) acc[i] = _mm512_dpbusd_epi32(acc[i], x, w);
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++) __asm__ volatile("" : "+v"(acc[i]));
  }
  return steps * CHAINS * 64;
}

const go_kernel go_kernel_vnni = {"vnni", conv_vnni, loop_pool, loop_dot, loop_point_dot, peak_vnni};
