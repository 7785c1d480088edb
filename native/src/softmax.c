/* Softmax and tanh of docs/spec/network.md: integers, then one division of exact doubles. */
#include "go_engine.h"

/* 2^33 times the expansion of 2^-x on [0, 1), by powers of x. */
static const int64_t coefficients[8] = {8589934592, -5954088911, 2063529293, -476771116,
                                        82597083,   -11405663,   1264973,    -92955};

/* 2^31 exp(-d / 4096), rounded; d >= 0. Never overflows for d < 2^32. */
static int64_t exp_down(uint64_t d) {
  uint64_t t = d * 387270501u;
  uint64_t n = t >> 40;
  if (n > 31) return 0;
  int64_t g = (int64_t)(t >> 11 & ((1u << 29) - 1));
  int64_t a = coefficients[7];
  for (int k = 6; k >= 0; k--) a = coefficients[k] + ((a * g) >> 29);
  int64_t e = (a + 2) >> 2;
  return n > 0 ? (e + ((int64_t)1 << (n - 1))) >> n : e;
}

int go_softmax(const int32_t *logits, const uint8_t *legal, int32_t n, double *prob) {
  if (n < 1) return GO_ERR_ARGUMENT;
  int32_t any = 0, top = 0;
  for (int32_t i = 0; i < n; i++) {
    if (legal && !legal[i]) continue;
    if (!any || logits[i] > top) top = logits[i];
    any = 1;
  }
  int64_t sum = 0;
  for (int32_t i = 0; i < n; i++) {
    int64_t e = legal && !legal[i] ? 0 : exp_down((uint64_t)((int64_t)top - logits[i]));
    prob[i] = (double)e;
    sum += e;
  }
  if (!any) return GO_ERR_ARGUMENT;
  for (int32_t i = 0; i < n; i++) prob[i] = prob[i] / (double)sum;
  return GO_OK;
}

double go_tanh(int32_t logit) {
  uint64_t away = (uint64_t)(logit < 0 ? -(int64_t)logit : (int64_t)logit);
  int64_t near = exp_down(0), far = exp_down(2 * away < UINT32_MAX ? 2 * away : UINT32_MAX);
  double magnitude = (double)(near - far) / (double)(near + far);
  return logit < 0 ? -magnitude : magnitude;
}
