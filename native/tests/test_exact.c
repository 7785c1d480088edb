/* The claim that results are the same bits everywhere: `test_exact [short | full]`.
 *
 * Random inputs of random networks over many boards, every batch size from 1 to 64, every kernel of this machine, with
 * 1, 2 and 4 threads, against the scalar kernel one position at a time; then searched games and tables of exp, log,
 * softmax and tanh. Digests of it all are compared with known ones: the same for every machine, compiler and flag.
 * `short` is for emulators and sanitizers. GO_TEST_BEST in the environment names the kernel that must be the best. */
#include <pthread.h>
#include <stdio.h>

#include "check.h"
#include "random_net.h"

enum { BATCHES = 64, ROUNDS = 5, CASES = BATCHES * ROUNDS, NETS = 7, SHORT_NETS = 3, THREADS = 4 };

static const char *const KNOWN[] = {
    "short inputs", "4ebadadb97930204dec64226c765dee7baadf5f450316025f15ce2cdd6be6f28",
    "full inputs",  "5c174195e7b920d272146c6cdb093235dc1d916cbc69527933b2468fd7f9c684",
    "games",        "2d7b5c71c85913cca073b4dd8a966f16f8728a4b085516f862c4c9ce53ce5c6f",
    "tables",       "415d1684ac1d5b00edef7aa1fffd0aea176857311f4257f50377b84b6cacb8ea",
};

static void check_digest(const char *what, const uint8_t digest[32]) {
  char text[65];
  for (int i = 0; i < 32; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
  for (size_t i = 0; i < sizeof KNOWN / sizeof KNOWN[0]; i += 2)
    if (strcmp(KNOWN[i], what) == 0 && strcmp(KNOWN[i + 1], text) == 0) return;
  fprintf(stderr, "The digest of the %s is %s.\n", what, text);
  go_check_failures++;
}

/* ---- inputs ---------------------------------------------------------------------------------------------- */

typedef struct exact_case {
  int32_t net, rows, cols, batch;
  uint64_t seed;
  size_t len;      /* numbers of its outputs */
  int32_t *wanted; /* policy, value, score_mean, score_spread, ownership of each position */
} exact_case;

static go_net *nets[NETS];
static exact_case cases[CASES];
static int32_t case_count;

static void make_cases(int full) {
  static const struct {
    int32_t blocks, channels, extreme;
  } shapes[NETS] = {{2, 16, 0}, {2, 32, 1}, {1, 48, 0}, {3, 64, 0}, {2, 80, 1}, {1, 112, 0}, {1, 224, 1}};
  static const int32_t boards[][2] = {{1, 1}, {19, 19}, {7, 7}, {9, 9}, {2, 3}, {13, 13}, {1, 19}, {19, 1},
                                      {5, 5}, {4, 11},  {8, 8}, {17, 6}, {3, 3}, {19, 18}, {2, 2}};
  const uint64_t count = sizeof boards / sizeof boards[0];
  uint64_t state = 1;
  case_count = full ? CASES : BATCHES;
  for (int32_t i = 0; i < (full ? NETS : SHORT_NETS); i++)
    nets[i] = random_net(100 + (uint64_t)i, shapes[i].blocks, shapes[i].channels, shapes[i].extreme);
  for (int32_t i = 0; i < case_count; i++) {
    exact_case *c = &cases[i];
    int32_t round = i / BATCHES, most = round == 0 ? 400 : 1600;
    c->batch = 1 + i % BATCHES;
    c->net = draw_between(&state, 0, round == 0 ? SHORT_NETS - 1 : NETS - 1);
    do {
      uint64_t board = draw_word(&state) % count;
      c->rows = boards[board][0], c->cols = boards[board][1];
    } while (c->rows * c->cols * c->batch > most);
    c->seed = draw_word(&state);
    c->len = (size_t)(c->batch * (2 * c->rows * c->cols + 4));
    c->wanted = malloc(c->len * sizeof *c->wanted);
    CHECK(c->wanted != NULL);
  }
}

/* Planes of each position: anything, all alike, or sparse as real ones are. */
static uint8_t *make_planes(const exact_case *c, size_t *position) {
  static const uint8_t sparse[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 64, 64, 64, 127, 1};
  uint64_t state = c->seed;
  *position = (size_t)(GO_FEATURE_PLANES * c->rows * c->cols);
  uint8_t *planes = malloc(*position * (size_t)c->batch), *at = planes;
  CHECK(planes != NULL);
  for (int32_t i = 0; i < c->batch; i++) {
    const uint64_t kind = draw_word(&state) % 5, same = draw_word(&state) % 2 * 127;
    for (size_t j = 0; j < *position; j++) {
      const uint64_t word = draw_word(&state);
      *at++ = kind == 0 ? word & 127 : kind == 1 ? (uint8_t)same : sparse[word % 16];
    }
  }
  return planes;
}

static int32_t *flatten(int32_t *to, const go_output *out, int32_t points) {
  memcpy(to, out->policy, (size_t)(points + 1) * sizeof *to);
  to += points + 1;
  *to++ = out->value, *to++ = out->score_mean, *to++ = out->score_spread;
  memcpy(to, out->ownership, (size_t)points * sizeof *to);
  return to + points;
}

/* ---- evaluation ------------------------------------------------------------------------------------------ */

/* One thread's share of the cases: every `step`-th. */
typedef struct worker {
  int32_t kernel, first, step;
  int record; /* 1: fills `wanted`, one position at a time; 0: compares whole batches with it */
  int32_t faults;
} worker;

static void run_case(worker *w, go_eval *eval, exact_case *c) {
  size_t position;
  uint8_t *planes = make_planes(c, &position);
  go_output *out = calloc((size_t)c->batch, sizeof *out);
  const int32_t points = c->rows * c->cols, part = w->record ? 1 : c->batch;
  if (!out) abort();
  for (int32_t i = 0; i < c->batch; i += part)
    if (go_eval_run(eval, c->rows, c->cols, part, planes + (size_t)i * position, position * (size_t)part, out + i) != GO_OK)
      w->faults++;
  int32_t *got = w->record ? c->wanted : malloc(c->len * sizeof *got), *at = got;
  for (int32_t i = 0; i < c->batch; i++) at = flatten(at, out + i, points);
  if (!w->record) {
    if (memcmp(got, c->wanted, c->len * sizeof *got) != 0) w->faults++;
    free(got);
  }
  free(out);
  free(planes);
}

static void *run_worker(void *argument) {
  worker *w = argument;
  go_eval *evals[NETS] = {0};
  for (int32_t i = w->first; i < case_count; i += w->step) {
    go_eval **eval = &evals[cases[i].net];
    if (!*eval && go_eval_new(nets[cases[i].net], w->kernel, eval) != GO_OK) abort();
    run_case(w, *eval, &cases[i]);
  }
  for (int32_t i = 0; i < NETS; i++) go_eval_free(evals[i]);
  return NULL;
}

static void run_threads(int32_t kernel, int32_t threads, int record) {
  pthread_t thread[THREADS];
  worker workers[THREADS];
  int32_t faults = 0;
  for (int32_t i = 0; i < threads; i++) {
    workers[i] = (worker){.kernel = kernel, .first = i, .step = threads, .record = record};
    CHECK_EQ(pthread_create(&thread[i], NULL, run_worker, &workers[i]), 0);
  }
  for (int32_t i = 0; i < threads; i++) {
    CHECK_EQ(pthread_join(thread[i], NULL), 0);
    faults += workers[i].faults;
  }
  if (faults > 0) fprintf(stderr, "%s, %d threads: %d of %d batches differ\n", go_kernel_name(kernel), threads, faults, case_count);
  CHECK_EQ(faults, 0);
}

static void digest_cases(const char *what, int32_t count) {
  size_t len = 0, at = 0;
  uint8_t digest[32];
  for (int32_t i = 0; i < count; i++) len += cases[i].len;
  int32_t *all = malloc(len * sizeof *all);
  CHECK(all != NULL);
  for (int32_t i = 0; i < count; at += cases[i++].len) memcpy(all + at, cases[i].wanted, cases[i].len * sizeof *all);
  go_sha256((const uint8_t *)all, len * sizeof *all, digest);
  check_digest(what, digest);
  free(all);
}

static void test_inputs(int full) {
  make_cases(full);
  run_threads(GO_KERNEL_SCALAR, 2, 1);
  digest_cases("short inputs", BATCHES);
  if (full) digest_cases("full inputs", CASES);
  for (int32_t kernel = GO_KERNEL_SCALAR; kernel <= GO_KERNEL_LAST; kernel++) {
    if (!go_kernel_available(kernel)) continue;
    for (int32_t threads = 1; threads <= THREADS; threads *= 2) run_threads(kernel, threads, 0);
  }
  for (int32_t i = 0; i < case_count; i++) free(cases[i].wanted);
}

/* ---- games ----------------------------------------------------------------------------------------------- */

/* D of each ply of a short game, with and without a network; the same from every kernel. */
static void play_game(int32_t kernel, const go_net *net, int32_t side, uint8_t digest[32]) {
  const go_rules rules = {.rows = side, .cols = side, .ko = GO_KO_POSITIONAL, .suicide = 1, .pass_alive = 1,
                          .settled_end = 1, .komi_half = 15, .move_cap = 3 * side * side};
  const go_search_config config = {
      .visits_full = 60, .visits_fast = 20, .full_share_ppm = 500000, .cpuct_micro = 1100000,
      .fpu_reduction_micro = 200000, .root_fpu_reduction_micro = 100000, .noise_weight_ppm = 250000,
      .noise_alpha_micro = 10830000, .root_temperature_micro = 1150000, .forced_playouts_micro = 2000000,
      .score_utility_micro = 100000, .temperature_start_micro = 800000, .temperature_end_micro = 200000,
      .temperature_halflife = 7, .gumbel_considered = 1, .symmetry = 1};
  const go_search_ids ids = {{1}, {(uint8_t)side}};
  const go_player player = {.net = net};
  uint8_t trace[33 * 32] = {0};
  go_game *game;
  go_ply ply;
  CHECK_EQ(go_game_new(&rules, &game), GO_OK);
  for (int32_t i = 0; i < 32 && go_game_end(game) == GO_END_NONE; i++) {
    CHECK_EQ(go_search_ply(&player, kernel, &config, &ids, game, &ply), GO_OK);
    memcpy(trace + (size_t)i * 32, ply.digest, 32);
    CHECK_EQ(go_game_play(game, ply.move, GO_EMPTY), GO_OK);
  }
  go_game_free(game);
  go_sha256(trace, sizeof trace, digest);
}

static void test_games(void) {
  static const int32_t sides[] = {5, 7, 9};
  uint8_t wanted[6 * 32], got[6 * 32], digest[32];
  go_net *net = random_net(7, 1, 16, 0);
  for (int32_t kernel = GO_KERNEL_SCALAR; kernel <= GO_KERNEL_LAST; kernel++) {
    if (!go_kernel_available(kernel)) continue;
    for (int32_t i = 0; i < 3; i++) {
      play_game(kernel, NULL, sides[i], got + (size_t)i * 64);
      play_game(kernel, net, sides[i], got + (size_t)i * 64 + 32);
    }
    if (kernel == GO_KERNEL_SCALAR) memcpy(wanted, got, sizeof got);
    CHECK(memcmp(wanted, got, sizeof got) == 0);
  }
  go_net_free(net);
  go_sha256(wanted, sizeof wanted, digest);
  check_digest("games", digest);
}

/* ---- tables ---------------------------------------------------------------------------------------------- */

static void test_tables(void) {
  enum { EACH = 2000, LOGITS = 50, ROUNDS_OF_LOGITS = 40 };
  static double table[3 * EACH + LOGITS * ROUNDS_OF_LOGITS];
  double *at = table;
  uint64_t state = 3;
  uint8_t digest[32];
  for (int32_t i = 0; i < EACH; i++) {
    const double x = (double)draw_between(&state, -(1 << 30), 1 << 30);
    *at++ = go_exp(x * 0x1p-22 * 2.9); /* from below the least normal number to beyond the greatest */
    *at++ = go_log((x + 0x1p30) * (i % 3 == 0 ? 0x1p-1070 : i % 3 == 1 ? 0x1p-31 : 0x1p400) + 0x1p-1074);
    *at++ = go_tanh(draw_between(&state, -(1 << 17), 1 << 17));
  }
  for (int32_t round = 0; round < ROUNDS_OF_LOGITS; round++, at += LOGITS) {
    int32_t logits[LOGITS], most = 1 << (round % 17 + 1);
    uint8_t legal[LOGITS];
    for (int32_t i = 0; i < LOGITS; i++) {
      logits[i] = draw_between(&state, -most, most);
      legal[i] = i == 0 || draw_word(&state) % 4 > 0;
    }
    CHECK_EQ(go_softmax(logits, legal, LOGITS, at), GO_OK);
  }
  go_sha256((const uint8_t *)table, sizeof table, digest);
  check_digest("tables", digest);
}

int main(int argc, char **argv) {
  const int full = argc > 1 && strcmp(argv[1], "full") == 0;
  const char *best = getenv("GO_TEST_BEST"), *name = go_kernel_name(go_kernel_best());
  if (best && strcmp(best, name) != 0) {
    fprintf(stderr, "The best kernel is %s, not %s.\n", name, best);
    go_check_failures++;
  }
  test_inputs(full);
  test_games();
  test_tables();
  for (int32_t i = 0; i < NETS; i++) go_net_free(nets[i]);
  return CHECK_RESULT;
}
