/* The AVX2 kernel: vpmaddubsw on 8 outputs a register. With |w| <= 64 and activations below 128 a product pair stays
 * below 2^14, so two of them add up in int16 without saturation. */
#include "kernel.h"

#include <immintrin.h>
#include <string.h>

#define GO_TARGET __attribute__((target("avx2")))
#include "kernel_loops.h"

/* ---- tiles ---------------------------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline)) GO_TARGET

INLINE __m256i load(const void *at) { return _mm256_loadu_si256((const __m256i *)at); }

INLINE __m256i broadcast4(const uint8_t *at) {
  int32_t four;
  memcpy(&four, at, sizeof four);
  return _mm256_set1_epi32(four);
}

/* Requantises the sums of 16 outputs of point k, in two registers, and stores them. */
INLINE void finish(const go_conv_run *run, __m256i low, __m256i high, int32_t k, int32_t output) {
  const go_conv *conv = run->conv;
  low = _mm256_srav_epi32(low, load(conv->shift + output));
  high = _mm256_srav_epi32(high, load(conv->shift + output + 8));
  __m256i v = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
  __m256i r = _mm256_mulhrs_epi16(v, load(conv->multiplier + output));
  if (run->stream) {
    int16_t *stream = run->stream + (size_t)k * (size_t)conv->outputs + output;
    if (run->add) r = _mm256_adds_epi16(load(stream), r);
    _mm256_storeu_si256((__m256i *)stream, r);
    r = _mm256_mulhrs_epi16(_mm256_adds_epi16(r, load(run->norm->bias + output)), load(run->norm->multiplier + output));
  }
  r = _mm256_min_epi16(r, _mm256_set1_epi16(127));
  __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
  _mm_storeu_si128((__m128i *)(run->out + (size_t)run->at[k] * (size_t)conv->outputs + output), bytes);
}

/* P points from `first` on and 16 outputs. */
INLINE void tile(const int P, const go_conv_run *run, int32_t first, int32_t vector) {
  const go_conv *conv = run->conv;
  const int32_t groups = conv->inputs / 4;
  const int8_t *w = conv->packed + (size_t)vector * (size_t)(conv->taps * groups) * 64;
  const __m256i ones = _mm256_set1_epi16(1);
  size_t point[5];
  __m256i low[5], high[5];
#pragma GCC unroll 5
  for (int p = 0; p < P; p++) {
    point[p] = (size_t)run->at[first + p] * (size_t)conv->inputs;
    const int32_t *bias = run->bias + (size_t)run->image[first + p] * (size_t)run->bias_stride + vector * GO_NET_VECTOR;
    low[p] = load(bias), high[p] = load(bias + 8);
  }
  for (int32_t t = 0; t < conv->taps; t++) {
    const uint8_t *in = run->in + run->tap_offset[t];
    int32_t g = 0;
    for (; g + 2 <= groups; g += 2, w += 128, in += 8) {
#pragma GCC unroll 5
      for (int p = 0; p < P; p++) {
        __m256i x0 = broadcast4(in + point[p]), x1 = broadcast4(in + point[p] + 4);
        __m256i a = _mm256_add_epi16(_mm256_maddubs_epi16(x0, load(w)), _mm256_maddubs_epi16(x1, load(w + 64)));
        __m256i b = _mm256_add_epi16(_mm256_maddubs_epi16(x0, load(w + 32)), _mm256_maddubs_epi16(x1, load(w + 96)));
        low[p] = _mm256_add_epi32(low[p], _mm256_madd_epi16(a, ones));
        high[p] = _mm256_add_epi32(high[p], _mm256_madd_epi16(b, ones));
      }
    }
    if (g < groups) {
#pragma GCC unroll 5
      for (int p = 0; p < P; p++) {
        __m256i x = broadcast4(in + point[p]);
        low[p] = _mm256_add_epi32(low[p], _mm256_madd_epi16(_mm256_maddubs_epi16(x, load(w)), ones));
        high[p] = _mm256_add_epi32(high[p], _mm256_madd_epi16(_mm256_maddubs_epi16(x, load(w + 32)), ones));
      }
      w += 64;
    }
  }
#pragma GCC unroll 5
  for (int p = 0; p < P; p++) finish(run, low[p], high[p], first + p, vector * GO_NET_VECTOR);
}

/* ---- convolution ---------------------------------------------------------------------------------------- */

static GO_TARGET void tile_5(const go_conv_run *run, int32_t first, int32_t vector) { tile(5, run, first, vector); }
static GO_TARGET void tile_4(const go_conv_run *run, int32_t first, int32_t vector) { tile(4, run, first, vector); }

static void conv_avx2(const go_conv_run *run) {
  int32_t vectors = run->conv->outputs / GO_NET_VECTOR;
  for (int32_t vector = 0; vector < vectors; vector++) {
    int32_t first = 0, fives = run->points - (run->points + 4) / 5 * 4; /* as few tiles as can be, of 5 points and of 4 */
    for (; fives > 0; fives--, first += 5) tile_5(run, first, vector);
    for (; first < run->points; first += 4) tile_4(run, first, vector);
  }
}

/* ---- peak ----------------------------------------------------------------------------------------------- */

/* The mix of the tile's inner loop: two products, their sum, and the widening sum, for 64 multiply-adds. */
static GO_TARGET int64_t peak_avx2(int64_t steps) {
  enum { CHAINS = 10 };
  __m256i acc[CHAINS], x = _mm256_set1_epi8(1), w = _mm256_set1_epi8((char)(steps & 1)), ones = _mm256_set1_epi16(1);
#pragma GCC unroll 10
  for (int i = 0; i < CHAINS; i++) acc[i] = _mm256_setzero_si256();
  for (int64_t s = 0; s < steps; s++) {
#pragma GCC unroll 10
    for (int i = 0; i < CHAINS; i++) {
      __asm__ volatile("" : "+x"(x), "+x"(w)); /* so that nothing leaves the loop */
      __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(x, w), _mm256_maddubs_epi16(w, x));
      acc[i] = _mm256_add_epi32(acc[i], _mm256_madd_epi16(pairs, ones));
    }
  }
#pragma GCC unroll 10
  for (int i = 0; i < CHAINS; i++) __asm__ volatile("" : : "x"(acc[i]));
  return steps * CHAINS * 64;
}

const go_kernel go_kernel_avx2 = {"avx2", conv_avx2, loop_pool, loop_dot, loop_point_dot, peak_avx2};
