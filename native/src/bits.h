#ifndef GO_BITS_H
#define GO_BITS_H
/* Sets of board points as words of 64 bits: bit row * stride + col, stride = cols + 1, so that the unused column
 * between rows catches what a shift carries over. `words` is 1 up to 7x7, 2 up to 10x10, 6 at 19x19. */
#include <stdint.h>
#include <string.h>

#define GO_INLINE static inline __attribute__((always_inline))

enum { GO_MAX_WORDS = 6 };

/* Calls `name(..., words)` with the number of words as a constant for the sizes that are played most. */
#define GO_BY_WORDS(words, name, ...)                                        \
  ((words) == 1   ? name(__VA_ARGS__, 1)                                     \
   : (words) == 2 ? name(__VA_ARGS__, 2)                                     \
   : (words) == 6 ? name(__VA_ARGS__, 6)                                     \
                  : name(__VA_ARGS__, words))

GO_INLINE int32_t go_popcount(uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (int32_t)(x * 0x0101010101010101u >> 56);
}

/* The place of the lowest bit; x is not 0. */
GO_INLINE int32_t go_lowest(uint64_t x) { return __builtin_ctzll(x); }

/* The place of bit number k, counted from the lowest; x has more than k bits. Vigna, "Broadword implementation of
 * rank/select queries", WEA 2008. */
GO_INLINE int32_t go_select(uint64_t x, int32_t k) {
  const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
  uint64_t sums = x - (x >> 1 & 0x5555555555555555u);
  sums = (sums & 0x3333333333333333u) + (sums >> 2 & 0x3333333333333333u);
  sums = ((sums + (sums >> 4)) & 0x0f0f0f0f0f0f0f0fu) * ones; /* byte i: bits in bytes 0..i */
  /* Bytes whose sum does not exceed k come before the byte that is looked for. */
  const uint64_t beyond = ((sums | high) - (uint64_t)(k + 1) * ones) & high;
  const int32_t byte = go_lowest(beyond) & ~7;
  k -= (int32_t)((sums << 8) >> byte & 0xff);
  uint64_t rest = x >> byte;
  while (k--) rest &= rest - 1;
  return byte + go_lowest(rest);
}

GO_INLINE int32_t go_bits_count(const uint64_t *set, int32_t words) {
  int32_t count = 0;
  for (int32_t i = 0; i < words; i++) count += go_popcount(set[i]);
  return count;
}

GO_INLINE int go_bits_any(const uint64_t *set, int32_t words) {
  uint64_t all = 0;
  for (int32_t i = 0; i < words; i++) all |= set[i];
  return all != 0;
}

/* Whether every point of `a` is in `b`. */
GO_INLINE int go_bits_within(const uint64_t *a, const uint64_t *b, int32_t words) {
  uint64_t rest = 0;
  for (int32_t i = 0; i < words; i++) rest |= a[i] & ~b[i];
  return rest == 0;
}

/* The lowest point of a set that is not empty. */
GO_INLINE int32_t go_bits_first(const uint64_t *set, int32_t words) {
  int32_t i = 0;
  while (i + 1 < words && !set[i]) i++;
  return 64 * i + go_lowest(set[i]);
}

GO_INLINE int go_bits_has(const uint64_t *set, int32_t bit) { return (int)(set[bit >> 6] >> (bit & 63) & 1); }
GO_INLINE void go_bits_flip(uint64_t *set, int32_t bit) { set[bit >> 6] ^= (uint64_t)1 << (bit & 63); }

/* The points next to `in`; also bits off the board, so mask the result. `out` is another array. */
GO_INLINE void go_bits_near(uint64_t *restrict out, const uint64_t *restrict in, int32_t stride, int32_t words) {
  for (int32_t i = 0; i < words; i++) {
    const uint64_t at = in[i], below = i ? in[i - 1] : 0, above = i + 1 < words ? in[i + 1] : 0;
    out[i] = (at << 1 | below >> 63) | (at >> 1 | above << 63) | (at << stride | below >> (64 - stride)) |
             (at >> stride | above << (64 - stride));
  }
}

/* Grows `set` within `mask` to everything connected to it there. */
GO_INLINE void go_bits_flood(uint64_t *restrict set, const uint64_t *restrict mask, int32_t stride, int32_t words) {
  for (uint64_t grown = 1; grown;) {
    uint64_t near[GO_MAX_WORDS];
    go_bits_near(near, set, stride, words);
    grown = 0;
    for (int32_t i = 0; i < words; i++) {
      const uint64_t more = near[i] & mask[i] & ~set[i];
      set[i] |= more;
      grown |= more;
    }
  }
}

#endif
