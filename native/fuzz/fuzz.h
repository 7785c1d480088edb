#ifndef GO_FUZZ_H
#define GO_FUZZ_H
/* What a fuzz target offers: one input to judge (libFuzzer's entry) and good inputs to start from. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The good input number `index` in `data`; its length, or 0 when there are no more. Used by main.c alone. */
size_t go_fuzz_seed(uint32_t index, uint8_t *data, size_t capacity);

/* Ends the run: the input broke a promise of the engine. */
#define FUZZ_REQUIRE(condition)                                             \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                              \
    }                                                                       \
  } while (0)

#endif
