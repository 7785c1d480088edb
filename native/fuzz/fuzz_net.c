/* Network files from anywhere. The first byte tells whether the digest is made right, so that mutations reach the
 * numbers, and which board is evaluated; the rest claims to be a network file. What loads must evaluate without
 * overflow and alike in every kernel. */
#include "../tests/random_net.h"
#include "fuzz.h"

enum { RESEAL = 1, DIGEST = 32, SIDE_MAX = 5 };

static void evaluate(const go_net *net, int32_t side, const uint8_t *bytes, size_t len) {
  uint8_t planes[GO_FEATURE_PLANES * SIDE_MAX * SIDE_MAX];
  size_t used = (size_t)(GO_FEATURE_PLANES * side * side);
  for (size_t i = 0; i < used; i++) planes[i] = bytes[i % len] & 127;
  static go_output wanted, got;
  memset(&wanted, 0, sizeof wanted);
  memset(&got, 0, sizeof got);
  for (int32_t kernel = GO_KERNEL_SCALAR; kernel <= GO_KERNEL_LAST; kernel++) {
    if (!go_kernel_available(kernel)) continue;
    go_eval *eval;
    FUZZ_REQUIRE(go_eval_new(net, kernel, &eval) == GO_OK);
    FUZZ_REQUIRE(go_eval_run(eval, side, side, 1, planes, used, kernel == GO_KERNEL_SCALAR ? &wanted : &got) == GO_OK);
    go_eval_free(eval);
    FUZZ_REQUIRE(kernel == GO_KERNEL_SCALAR || memcmp(&wanted, &got, sizeof got) == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  if (!len) return 0;
  size_t size = len - 1;
  uint8_t *file = malloc(size ? size : 1);
  FUZZ_REQUIRE(file);
  memcpy(file, data + 1, size);
  if (data[0] & RESEAL && size > DIGEST) go_sha256(file, size - DIGEST, file + size - DIGEST);
  go_net *net;
  char why[100];
  int status = go_net_load(file, size, &net, why, sizeof why);
  FUZZ_REQUIRE((status == GO_OK) == (net != NULL));
  if (status == GO_OK) {
    evaluate(net, 1 + data[0] / 2 % SIDE_MAX, file, size);
  } else {
    FUZZ_REQUIRE(status == GO_ERR_FORMAT || status == GO_ERR_BOUNDS || status == GO_ERR_MEMORY);
    FUZZ_REQUIRE(strlen(why) > 0);
  }
  go_net_free(net);
  free(file);
  return 0;
}

size_t go_fuzz_seed(uint32_t index, uint8_t *data, size_t capacity) {
  static const struct {
    uint8_t choice;
    int32_t blocks, channels, kind; /* 0: a first network, 1: random numbers, 2: extreme ones */
  } seeds[] = {{RESEAL | 4, 1, 16, 0}, {RESEAL | 2, 2, 16, 0}, {RESEAL | 8, 1, 32, 0}, {4, 1, 16, 0},
               {RESEAL | 4, 2, 16, 1}, {RESEAL | 6, 1, 48, 1}, {RESEAL | 4, 2, 16, 2}, {RESEAL | 8, 1, 32, 2}};
  if (index >= sizeof seeds / sizeof *seeds) return 0;
  const uint8_t digest[32] = {(uint8_t)index};
  size_t len = capacity - 1;
  data[0] = seeds[index].choice;
  if (seeds[index].kind == 0) {
    FUZZ_REQUIRE(go_net_first(digest, seeds[index].blocks, seeds[index].channels, data + 1, &len) == GO_OK);
    return len + 1;
  }
  uint8_t *file = random_net_file(index, seeds[index].blocks, seeds[index].channels, seeds[index].kind == 2, &len);
  FUZZ_REQUIRE(len < capacity);
  memcpy(data + 1, file, len);
  free(file);
  return len + 1;
}
