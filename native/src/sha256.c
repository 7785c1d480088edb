/* SHA-256 (FIPS 180-4). The scalar rounds are the reference; x86 with the SHA instructions takes those. */
#include "go_engine.h"

#include <string.h>

static const uint32_t initial_state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* ---- scalar --------------------------------------------------------------------------------------------- */

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t read_be32(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void blocks_scalar(uint32_t state[8], const uint8_t *data, size_t blocks) {
  for (; blocks > 0; blocks--, data += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; i++) w[i] = read_be32(data + 4 * i);
    for (int i = 16; i < 64; i++) {
      uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
      uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t s[8];
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
      uint32_t e1 = rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25);
      uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
      uint32_t t1 = s[7] + e1 + choose + round_constants[i] + w[i];
      uint32_t e0 = rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22);
      uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
      memmove(s + 1, s, 7 * sizeof s[0]);
      s[4] += t1;
      s[0] = t1 + e0 + majority;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
  }
}

/* ---- x86 SHA instructions ------------------------------------------------------------------------------- */

#if defined(GO_X86)
#include <cpuid.h>
#include <immintrin.h>

__attribute__((target("sha,sse4.1"))) static void blocks_sha_ni(uint32_t state[8], const uint8_t *data, size_t blocks) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  /* The instructions keep the state as (A B E F) and (C D G H), high word first. */
  __m128i dcba = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
  __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
  __m128i abef = _mm_alignr_epi8(dcba, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, dcba, 0xf0);
  for (; blocks > 0; blocks--, data += 64) {
    const __m128i abef_in = abef, cdgh_in = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; i++) w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(data + 16 * i)), swap);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
      __m128i now = w[i & 3];
      if (i >= 4) {
        __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]),
                                    _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
        now = w[i & 3] = _mm_sha256msg2_epu32(sum, w[(i + 3) & 3]);
      }
      __m128i wk = _mm_add_epi32(now, _mm_loadu_si128((const __m128i *)(round_constants + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_in);
    cdgh = _mm_add_epi32(cdgh, cdgh_in);
  }
  __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* Older compilers cannot name SHA in __builtin_cpu_supports, and CPUID is slow under a hypervisor: asked once. */
static int has_sha_ni(void) {
  static int known; /* 0: not asked, 1: no, 2: yes; every thread would store the same */
  int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (answer == 0) {
    unsigned a, b, c, d;
    int sse41 = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_1);
    int sha = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
    answer = sse41 && sha ? 2 : 1;
    __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
  }
  return answer == 2;
}
#endif

/* ---- the whole message ---------------------------------------------------------------------------------- */

static void blocks_any(uint32_t state[8], const uint8_t *data, size_t blocks) {
#if defined(GO_X86)
  if (has_sha_ni()) {
    blocks_sha_ni(state, data, blocks);
    return;
  }
#endif
  blocks_scalar(state, data, blocks);
}

void go_sha256(const uint8_t *data, size_t len, uint8_t digest[32]) {
  uint32_t state[8];
  memcpy(state, initial_state, sizeof state);
  size_t whole = len / 64, rest = len % 64;
  if (whole > 0) blocks_any(state, data, whole);

  uint8_t tail[128] = {0};
  size_t tail_len = rest < 56 ? 64 : 128;
  if (rest > 0) memcpy(tail, data + 64 * whole, rest);
  tail[rest] = 0x80;
  uint64_t bits = (uint64_t)len * 8;
  for (int i = 0; i < 8; i++) tail[tail_len - 1 - i] = (uint8_t)(bits >> (8 * i));
  blocks_any(state, tail, tail_len / 64);

  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 4; j++) digest[4 * i + j] = (uint8_t)(state[i] >> (24 - 8 * j));
}
