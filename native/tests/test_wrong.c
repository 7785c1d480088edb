/* The self-test on a machine that computes wrongly: one bit of one evaluation, or the last bit of one exp, is another.
 *
 * The linker puts these in front of the engine's own (-Wl,--wrap), so all else is what runs everywhere. */
#include <string.h>

#include "check.h"
#include "go_engine.h"

enum { RIGHT, WRONG_VALUE, WRONG_LOGIT, WRONG_EXP };
static int machine;
static int64_t calls, wrong_call;

int __real_go_eval_run(go_eval *eval, int32_t rows, int32_t cols, int32_t n, const uint8_t *planes, size_t len,
                       go_output *out);
int __wrap_go_eval_run(go_eval *eval, int32_t rows, int32_t cols, int32_t n, const uint8_t *planes, size_t len,
                       go_output *out);
double __real_go_exp(double x);
double __wrap_go_exp(double x);

int __wrap_go_eval_run(go_eval *eval, int32_t rows, int32_t cols, int32_t n, const uint8_t *planes, size_t len,
                       go_output *out) {
  const int status = __real_go_eval_run(eval, rows, cols, n, planes, len, out);
  const int is_now = machine != WRONG_EXP && calls++ == wrong_call;
  if (is_now && machine == WRONG_VALUE) out[n - 1].value ^= 64;
  if (is_now && machine == WRONG_LOGIT) out[n - 1].policy[rows * cols] ^= 1024;
  return status;
}

double __wrap_go_exp(double x) {
  double y = __real_go_exp(x);
  uint64_t bits;
  if (machine == WRONG_EXP && calls++ == wrong_call) {
    memcpy(&bits, &y, sizeof bits);
    bits ^= 1;
    memcpy(&y, &bits, sizeof bits);
  }
  return y;
}

static int selftest(int kind, int64_t call, int32_t kernel) {
  machine = kind;
  wrong_call = call;
  calls = 0;
  return go_search_selftest(kernel);
}

int main(void) {
  for (int32_t kernel = GO_KERNEL_SCALAR; kernel <= GO_KERNEL_LAST; kernel++) {
    if (!go_kernel_available(kernel)) continue;
    CHECK_EQ(selftest(RIGHT, 0, kernel), GO_OK);
    CHECK(calls > 40);
    for (int64_t call = 0; call < 40; call += 13) {
      CHECK_EQ(selftest(WRONG_VALUE, call, kernel), GO_ERR_MISMATCH);
      CHECK_EQ(selftest(WRONG_LOGIT, call, kernel), GO_ERR_MISMATCH);
      CHECK_EQ(selftest(WRONG_EXP, call, kernel), GO_ERR_MISMATCH);
    }
  }
  return CHECK_RESULT;
}
