/* Runs a fuzz target without libFuzzer: `fuzz_X SECONDS [SEED]` mutates the target's good inputs for that long,
 * `fuzz_X FILE` judges one file. The input of a crash is left in crash-fuzz_X.bin. */
#include "fuzz.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

enum { CAPACITY = 1 << 20, SEEDS = 16, MUTATIONS = 6 };

static uint8_t input[CAPACITY];
static size_t input_len;
static uint8_t *seeds[SEEDS];
static size_t seed_len[SEEDS];
static uint32_t seed_count;
static uint64_t random_state;
static const char *name = "fuzz"; /* of this program, without its folder */
static char crash_path[256];

static uint32_t random_below(uint32_t n) { /* xorshift64* */
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return (uint32_t)((random_state * 0x2545f4914f6cdd1du) >> 33) % n;
}

/* ---- crashes --------------------------------------------------------------------------------------------- */

static void save_input(void) {
  FILE *file = fopen(crash_path, "wb");
  if (!file) return;
  fwrite(input, 1, input_len, file);
  fclose(file);
  fprintf(stderr, "%s failed; the input is in %s\n", name, crash_path);
}

static void on_abort(int signal_number) {
  (void)signal_number;
  save_input();
  _Exit(1);
}

/* ---- mutations ------------------------------------------------------------------------------------------- */

static void overwrite(size_t at, uint32_t value, size_t bytes) {
  for (size_t i = 0; i < bytes && at + i < input_len; i++) input[at + i] = (uint8_t)(value >> (8 * i));
}

static void mutate(void) {
  static const uint32_t edges[] = {0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
  /* Half of the edits hit the first bytes, where sizes and counts are. */
  uint32_t reach = input_len > 64 && random_below(2) ? 64 : (uint32_t)input_len;
  size_t at = reach ? random_below(reach) : 0;
  switch (random_below(7)) {
  case 0: if (input_len) input[at] ^= (uint8_t)(1u << random_below(8)); break;
  case 1: if (input_len) input[at] = (uint8_t)random_below(256); break;
  case 2: overwrite(at, edges[random_below(sizeof edges / sizeof *edges)], (size_t)1 << random_below(3)); break;
  case 3: if (input_len) input[at] = (uint8_t)(input[at] + random_below(9) - 4); break;
  case 4: input_len = random_below((uint32_t)input_len + 1); break;
  case 5: { /* random bytes at the end */
    size_t more = random_below(64);
    for (size_t i = 0; i < more && input_len < CAPACITY; i++) input[input_len++] = (uint8_t)random_below(256);
    break;
  }
  default: { /* a piece of another seed */
    uint32_t other = random_below(seed_count);
    size_t from = random_below((uint32_t)seed_len[other]), bytes = random_below(64);
    for (size_t i = 0; i < bytes && at + i < input_len && from + i < seed_len[other]; i++) {
      input[at + i] = seeds[other][from + i];
    }
  }
  }
}

/* ---- the runs -------------------------------------------------------------------------------------------- */

static int run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) {
    fprintf(stderr, "cannot read %s\n", path);
    return 2;
  }
  input_len = fread(input, 1, CAPACITY, file);
  fclose(file);
  LLVMFuzzerTestOneInput(input, input_len);
  printf("%s: no fault\n", path);
  return 0;
}

static int load_seeds(void) {
  while (seed_count < SEEDS) {
    size_t len = go_fuzz_seed(seed_count, input, CAPACITY);
    if (!len) break;
    seeds[seed_count] = malloc(len);
    if (!seeds[seed_count]) return 2;
    memcpy(seeds[seed_count], input, len);
    seed_len[seed_count++] = len;
    input_len = len;
    LLVMFuzzerTestOneInput(input, input_len);
  }
  return seed_count ? 0 : 2;
}

int main(int argc, char **argv) {
  char *end;
  long seconds = argc > 1 ? strtol(argv[1], &end, 10) : 10;
  if (argc > 0) name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
  snprintf(crash_path, sizeof crash_path, "crash-%s.bin", name);
  signal(SIGABRT, on_abort);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(save_input);
#endif
  if (argc > 1 && *end) return run_file(argv[1]);
  random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
  printf("%s: seed %llu\n", name, (unsigned long long)random_state);
  fflush(stdout);
  random_state = random_state * 2 + 1;
  if (load_seeds()) return 2;
  unsigned long long runs = 0;
  for (time_t stop = time(NULL) + seconds; time(NULL) < stop; runs++) {
    uint32_t seed = random_below(seed_count);
    memcpy(input, seeds[seed], seed_len[seed]);
    input_len = seed_len[seed];
    for (uint32_t i = 1 + random_below(MUTATIONS); i; i--) mutate();
    LLVMFuzzerTestOneInput(input, input_len);
  }
  printf("%s: %llu inputs, no fault\n", name, runs);
  for (uint32_t i = 0; i < seed_count; i++) free(seeds[i]);
  return 0;
}
