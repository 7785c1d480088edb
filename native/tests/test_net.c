/* The exact network in C, for the sanitizers: loading, refusals, kernels, batches, softmax, hashes. The comparison
 * with the spec is in tests/native/test_network.py. */
#include "check.h"
#include "go_engine.h"

#include <stdlib.h>
#include <string.h>

static uint32_t state = 1;

static uint32_t draw(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static uint8_t *first_file(int32_t blocks, int32_t channels, size_t *len) {
  uint8_t digest[32] = {7};
  *len = 0;
  CHECK_EQ(go_net_first(digest, blocks, channels, NULL, len), GO_ERR_ARGUMENT);
  uint8_t *file = malloc(*len);
  CHECK_EQ(go_net_first(digest, blocks, channels, file, len), GO_OK);
  return file;
}

static go_net *first_net(int32_t blocks, int32_t channels) {
  size_t len;
  uint8_t *file = first_file(blocks, channels, &len);
  go_net *net;
  CHECK_EQ(go_net_load(file, len, &net, NULL, 0), GO_OK);
  free(file);
  return net;
}

/* Loads `len` bytes from a block of exactly that size, so that the sanitizer sees any read past the end. */
static int load_exact(const uint8_t *file, size_t len, char *why, size_t why_len) {
  uint8_t *copy = malloc(len > 0 ? len : 1);
  if (len > 0) memcpy(copy, file, len);
  go_net *net;
  int status = go_net_load(copy, len, &net, why, why_len);
  CHECK((status == GO_OK) == (net != NULL));
  go_net_free(net);
  free(copy);
  return status;
}

static void reseal(uint8_t *file, size_t len) { go_sha256(file, len - 32, file + len - 32); }

static void test_load(void) {
  size_t len;
  char why[200];
  uint8_t *file = first_file(2, 16, &len);
  CHECK_EQ(load_exact(file, len, why, sizeof why), GO_OK);
  for (size_t cut = 0; cut < len; cut += cut < 64 ? 1 : 97) {
    CHECK_EQ(load_exact(file, cut, why, sizeof why), GO_ERR_FORMAT);
    CHECK(strlen(why) > 10 && why[strlen(why) - 1] == '.');
  }
  char tiny[4];
  CHECK_EQ(load_exact(file, 0, tiny, sizeof tiny), GO_ERR_FORMAT);
  CHECK_EQ(strlen(tiny), 3);
  for (size_t i = 0; i < 24; i++) {
    file[i] ^= 0x40;
    reseal(file, len);
    CHECK_EQ(load_exact(file, len, why, sizeof why), GO_ERR_FORMAT);
    file[i] ^= 0x40;
  }
  reseal(file, len);
  /* Any body at all ends in a status. */
  for (int round = 0; round < 300; round++) {
    uint8_t *bad = malloc(len);
    memcpy(bad, file, len);
    for (uint32_t n = 1 + draw() % 3; n > 0; n--) bad[24 + draw() % (len - 56)] = (uint8_t)draw();
    reseal(bad, len);
    int status = load_exact(bad, len, why, sizeof why);
    CHECK(status == GO_OK || status == GO_ERR_BOUNDS);
    free(bad);
  }
  free(file);
}

static void test_first_arguments(void) {
  uint8_t digest[32] = {0}, one;
  size_t len = 1;
  CHECK_EQ(go_net_first(digest, 0, 16, &one, &len), GO_ERR_ARGUMENT);
  CHECK_EQ(go_net_first(digest, 1, 17, &one, &len), GO_ERR_ARGUMENT);
  CHECK_EQ(go_net_first(digest, 1, 240, &one, &len), GO_ERR_ARGUMENT);
  CHECK_EQ(go_net_first(digest, 1, 16, &one, &len), GO_ERR_ARGUMENT);
  CHECK(len > 1000);
}

/* ---- evaluation ----------------------------------------------------------------------------------------- */

static int same_output(const go_output *a, const go_output *b, int32_t points) {
  return memcmp(a->policy, b->policy, (size_t)(points + 1) * sizeof a->policy[0]) == 0 && a->value == b->value &&
         a->score_mean == b->score_mean && a->score_spread == b->score_spread &&
         memcmp(a->ownership, b->ownership, (size_t)points * sizeof a->ownership[0]) == 0;
}

/* All kernels over `n` positions, from buffers on odd addresses, against the scalar kernel one position at a time. */
static void check_kernels(const go_net *net, int32_t rows, int32_t cols, int32_t n) {
  int32_t points = rows * cols;
  size_t position = (size_t)(GO_FEATURE_PLANES * points), len = position * (size_t)n;
  uint8_t *buffer = malloc(len + 1), *planes = buffer + 1;
  for (size_t i = 0; i < len; i++) planes[i] = (uint8_t)(draw() % 4 == 0 ? draw() % 128 : 0);
  go_output *wanted = calloc((size_t)n, sizeof *wanted), *got = calloc((size_t)n, sizeof *got);
  go_eval *eval;
  CHECK_EQ(go_eval_new(net, GO_KERNEL_SCALAR, &eval), GO_OK);
  for (int32_t i = 0; i < n; i++)
    CHECK_EQ(go_eval_run(eval, rows, cols, 1, planes + (size_t)i * position, position, &wanted[i]), GO_OK);
  go_eval_free(eval);
  for (int32_t kernel = GO_KERNEL_BEST; kernel <= GO_KERNEL_LAST; kernel++) {
    if (!go_kernel_available(kernel)) continue;
    CHECK_EQ(go_eval_new(net, kernel, &eval), GO_OK);
    CHECK_EQ(go_eval_run(eval, rows, cols, n, planes, len, got), GO_OK);
    for (int32_t i = 0; i < n; i++) CHECK(same_output(&wanted[i], &got[i], points));
    go_eval_free(eval);
  }
  free(buffer);
  free(wanted);
  free(got);
}

static void test_kernels(void) {
  static const int32_t channels[] = {16, 32, 48, 64, 96};
  for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
    go_net *net = first_net(2, channels[i]);
    check_kernels(net, 7, 7, 3);
    if (channels[i] == 32) {
      check_kernels(net, 9, 9, 8);
      check_kernels(net, 13, 13, 5);
      check_kernels(net, 19, 19, 2);
      check_kernels(net, 1, 1, 600);
      check_kernels(net, 1, 19, 1);
    }
    go_net_free(net);
  }
}

static void test_eval_arguments(void) {
  go_net *net = first_net(1, 16);
  go_eval *eval;
  go_output out;
  uint8_t planes[GO_FEATURE_PLANES * 4] = {0};
  CHECK_EQ(go_eval_new(net, 99, &eval), GO_ERR_KERNEL);
  CHECK(eval == NULL);
  CHECK_EQ(go_eval_new(net, GO_KERNEL_BEST, &eval), GO_OK);
  CHECK_EQ(go_eval_run(eval, 2, 2, 1, planes, sizeof planes, &out), GO_OK);
  CHECK_EQ(go_eval_run(eval, 2, 2, 0, planes, 0, &out), GO_OK);
  CHECK_EQ(go_eval_run(eval, 2, 2, -1, planes, sizeof planes, &out), GO_ERR_ARGUMENT);
  CHECK_EQ(go_eval_run(eval, 2, 2, 2, planes, sizeof planes, &out), GO_ERR_ARGUMENT);
  CHECK_EQ(go_eval_run(eval, 0, 2, 1, planes, sizeof planes, &out), GO_ERR_ARGUMENT);
  CHECK_EQ(go_eval_run(eval, 2, 20, 1, planes, sizeof planes, &out), GO_ERR_ARGUMENT);
  CHECK_EQ(go_eval_run(eval, 2, 2, 1, planes, sizeof planes - 1, &out), GO_ERR_ARGUMENT);
  planes[17] = 128;
  CHECK_EQ(go_eval_run(eval, 2, 2, 1, planes, sizeof planes, &out), GO_ERR_ARGUMENT);
  go_eval_free(eval);
  go_net_free(net);
  go_eval_free(NULL);
  go_net_free(NULL);
  CHECK_EQ(go_kernel_peak(99, 10), 0);
  CHECK_EQ(go_kernel_peak(GO_KERNEL_SCALAR, -1), 0);
  CHECK(strcmp(go_kernel_name(GO_KERNEL_SCALAR), "scalar") == 0);
}

/* ---- softmax and words ---------------------------------------------------------------------------------- */

static void test_softmax(void) {
  int32_t logits[4] = {INT32_MIN, 0, INT32_MAX, INT32_MAX};
  double prob[4];
  CHECK_EQ(go_softmax(logits, NULL, 4, prob), GO_OK);
  CHECK(prob[0] == 0 && prob[1] == 0 && prob[2] == 0.5 && prob[3] == 0.5);
  const uint8_t legal[4] = {1, 1, 0, 0}, none[4] = {0};
  CHECK_EQ(go_softmax(logits, legal, 4, prob), GO_OK);
  CHECK(prob[0] == 0 && prob[1] == 1 && prob[2] == 0);
  CHECK_EQ(go_softmax(logits, none, 4, prob), GO_ERR_ARGUMENT);
  CHECK_EQ(go_softmax(logits, NULL, 0, prob), GO_ERR_ARGUMENT);
  CHECK(go_tanh(0) == 0 && go_tanh(INT32_MIN) == -1 && go_tanh(INT32_MAX) == 1 && go_tanh(500) == -go_tanh(-500));
}

static void test_words(void) {
  const uint32_t counter[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, key[2] = {0xa4093822, 0x299f31d0};
  uint32_t out[4];
  go_philox(counter, key, out);
  CHECK(out[0] == 0xd16cfe09 && out[1] == 0x94fdcceb && out[2] == 0x5001e420 && out[3] == 0x24126ea1);
  const uint8_t empty[4] = {0xe3, 0xb0, 0xc4, 0x42};
  uint8_t digest[32];
  go_sha256(NULL, 0, digest);
  CHECK(memcmp(digest, empty, 4) == 0);
}

int main(void) {
  test_load();
  test_first_arguments();
  test_kernels();
  test_eval_arguments();
  test_softmax();
  test_words();
  return CHECK_RESULT;
}
