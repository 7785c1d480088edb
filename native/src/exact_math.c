#include "exact_math.h"

#include <string.h>

#ifdef GO_X86
#include <xmmintrin.h>
#endif

/* ---- bits ----------------------------------------------------------------------------------------------- */

static const double LN2_HI = 0x1.62e42feep-1; /* the low 32 bits are 0: k * LN2_HI is exact for |k| < 2^11 */
static const double LN2_LO = 0x1.a39ef35793c76p-33;

static double from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint64_t to_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* ---- exp and log ---------------------------------------------------------------------------------------- */

/* Cody-Waite reduction to |r| <= ln2 / 2, then the Taylor polynomial of degree 13 (its tail is below 2^-57). */
double go_exp(double x) {
  static const double c[] = {/* 1 / n! for n = 13 .. 2 */
                             0x1.6124613a86d09p-33, 0x1.1eed8eff8d898p-29, 0x1.ae64567f544e4p-26, 0x1.27e4fb7789f5cp-22,
                             0x1.71de3a556c734p-19, 0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-13, 0x1.6c16c16c16c17p-10,
                             0x1.1111111111111p-7,  0x1.5555555555555p-5,  0x1.5555555555555p-3,  0x1p-1};
  if (!(x > -708.0)) return x != x ? x : 0.0;
  if (x > 709.0) return from_bits(0x7ff0000000000000u);
  const double t = x * 0x1.71547652b82fep0;
  const int64_t k = (int64_t)(t < 0.0 ? t - 0.5 : t + 0.5);
  const double hi = x - (double)k * LN2_HI, lo = (double)k * LN2_LO;
  const double r = hi - lo, tail = (hi - r) - lo;
  double p = c[0];
  for (int i = 1; i < 12; i++) p = p * r + c[i];
  const double y = 1.0 + (r + (r * r * p + tail));
  return y * from_bits((uint64_t)(k + 1023) << 52);
}

/* The form and coefficients of fdlibm's e_log.c (Sun Microsystems, 1993): x = 2^k (1 + f), s = f / (2 + f). */
double go_log(double x) {
  static const double lg[] = {0x1.5555555555593p-1, 0x1.999999997fa04p-2, 0x1.2492494229359p-2, 0x1.c71c51d8e78afp-3,
                              0x1.7466496cb03dep-3, 0x1.39a09d078c69fp-3, 0x1.2f112df3e5244p-3};
  if (!(x > 0.0)) return x == 0.0 ? -from_bits(0x7ff0000000000000u) : from_bits(0x7ff8000000000000u);
  if (x > 0x1.fffffffffffffp1023) return x;
  int64_t k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  const uint64_t bits = to_bits(x), fraction = bits & 0xfffffffffffffu;
  const int upper = fraction >= 0x6a09e667f3bcdu; /* sqrt 2 and above go to the next power of two */
  k += (int64_t)(bits >> 52) - 1023 + upper;
  const double f = from_bits(fraction | (uint64_t)(1023 - upper) << 52) - 1.0, kd = (double)k;
  const double s = f / (2.0 + f), z = s * s, w = z * z;
  const double even = w * (lg[1] + w * (lg[3] + w * lg[5]));
  const double odd = z * (lg[0] + w * (lg[2] + w * (lg[4] + w * lg[6])));
  const double r = odd + even, half = 0.5 * f * f;
  return kd * LN2_HI - ((half - (s * (half + r) + kd * LN2_LO)) - f);
}

/* ---- floating-point mode -------------------------------------------------------------------------------- */

#if defined(GO_X86)
go_fp_mode go_fp_enter(void) {
  const go_fp_mode before = {_mm_getcsr()};
  _mm_setcsr(0x1f80);
  return before;
}
void go_fp_leave(go_fp_mode before) { _mm_setcsr((uint32_t)before.word & ~0x3fu); }
#elif defined(GO_NEON)
go_fp_mode go_fp_enter(void) {
  go_fp_mode before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before.word));
  __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
  return before;
}
void go_fp_leave(go_fp_mode before) { __asm__ volatile("msr fpcr, %0" : : "r"(before.word)); }
#else
#include <fenv.h>
go_fp_mode go_fp_enter(void) {
  const go_fp_mode before = {(uint64_t)fegetround()};
  fesetround(FE_TONEAREST);
  return before;
}
void go_fp_leave(go_fp_mode before) { fesetround((int)before.word); }
#endif
