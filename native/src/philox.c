/* Philox4x32-10: counter-based random words (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). */
#include "go_engine.h"

void go_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xd2511f53 * c0, p1 = (uint64_t)0xcd9e8d57 * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c0 = n0, c1 = (uint32_t)p1, c2 = n2, c3 = (uint32_t)p0;
    k0 += 0x9e3779b9, k1 += 0xbb67ae85;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}
