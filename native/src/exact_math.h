#ifndef GO_EXACT_MATH_H
#define GO_EXACT_MATH_H
/* Arithmetic that gives the same bits on every machine: own exp and log, fixed point, the floating-point mode.
 *
 * Everything here is binary64 with + - * / and conversions, compiled with -ffp-contract=off. */
#include "go_engine.h"

/* x * 2^bits to the nearest integer, halves away from zero; |x| * 2^bits < 2^52. */
static inline int64_t go_fix(double x, int32_t bits) {
  double scaled = x * (double)((int64_t)1 << bits);
  return (int64_t)(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

/* floor(a / b) for b > 0. */
static inline int64_t go_floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

/* The mean of `count` numbers with this sum, to the nearest integer, halves up: floor(sum / count + 1/2). */
static inline int64_t go_mean(int64_t sum, int64_t count) { return go_floor_div(2 * sum + count, 2 * count); }

/* The floating-point mode of this thread. */
typedef struct go_fp_mode {
  uint64_t word;
} go_fp_mode;

/* Round to nearest, subnormals kept, exceptions masked; returns the mode that was set before. */
go_fp_mode go_fp_enter(void);
void go_fp_leave(go_fp_mode before);

#endif
