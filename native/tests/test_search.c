/* The search from inside: arithmetic, random numbers, trees that can be counted by hand, trace, self-test. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../src/exact_math.h"
#include "../src/random.h"
#include "../src/search.h"
#include "check.h"

static const go_rules RULES = {.rows = 5, .cols = 5, .ko = GO_KO_POSITIONAL, .komi_half = 1, .move_cap = 75};
static const go_search_config PLAIN = {.visits_full = 40, .visits_fast = 12, .full_share_ppm = 1000000,
                                       .cpuct_micro = 1100000, .fpu_reduction_micro = 200000,
                                       .root_temperature_micro = 1000000, .temperature_halflife = 1, .gumbel_considered = 1,
                                       .symmetry = 1};

static go_search_config noisy(void) {
  go_search_config config = PLAIN;
  config.noise_weight_ppm = 250000;
  config.noise_alpha_micro = 10830000;
  config.forced_playouts_micro = 2000000;
  config.score_utility_micro = 100000;
  config.root_temperature_micro = 1200000;
  config.temperature_start_micro = 800000;
  config.temperature_end_micro = 200000;
  config.temperature_halflife = 5;
  return config;
}

static go_search_config gumbel(void) {
  go_search_config config = noisy();
  config.root = GO_ROOT_GUMBEL;
  config.gumbel_considered = 6;
  config.gumbel_noise_micro = 1000000;
  config.gumbel_c_visit_micro = 50000000;
  config.gumbel_c_scale_micro = 1000000;
  return config;
}

static go_search_ids ids_of(uint8_t first) {
  go_search_ids ids = {{7}, {0}};
  ids.game_seed[0] = first;
  return ids;
}

/* ---- arithmetic ----------------------------------------------------------------------------------------- */

static double ulps(double got, double want) {
  return fabs(got - want) / (nextafter(fabs(want), INFINITY) - fabs(want));
}

static void test_exp_log(void) {
  double worst_exp = 0.0, worst_log = 0.0;
  for (int i = -70000; i < 70000; i++) {
    const double x = (double)i * 0.01 + 1e-7 * (double)(i % 97);
    worst_exp = fmax(worst_exp, ulps(go_exp(x), exp(x)));
    const double y = exp(x * 0.3) * (1.0 + 1e-9 * (double)(i % 89));
    if (y != 1.0) worst_log = fmax(worst_log, ulps(go_log(y), log(y)));
  }
  CHECK(worst_exp <= 1.0);
  CHECK(worst_log <= 1.0);
  CHECK(go_exp(0.0) == 1.0 && go_log(1.0) == 0.0);
  CHECK(go_exp(-1e300) == 0.0 && go_exp(-INFINITY) == 0.0 && isinf(go_exp(1e4)) && isnan(go_exp(NAN)));
  CHECK(go_log(0.0) == -INFINITY && isnan(go_log(-1.0)) && isinf(go_log(INFINITY)) && isnan(go_log(NAN)));
  CHECK(fabs(go_log(5e-324) - log(5e-324)) < 1e-12);
}

static void test_fixed_point(void) {
  CHECK(go_fix(0.5, 1) == 1 && go_fix(-0.5, 1) == -1 && go_fix(0.25, 1) == 1 && go_fix(-0.25, 1) == -1);
  CHECK(go_fix(1.0, 24) == 1 << 24 && go_fix(0.1, 1) == 0);
  CHECK(go_floor_div(-1, 2) == -1 && go_floor_div(-4, 2) == -2 && go_floor_div(5, 2) == 2);
  CHECK(go_mean(3, 2) == 2 && go_mean(-3, 2) == -1 && go_mean(-7, 3) == -2 && go_mean(7, 3) == 2);
}

static void test_dirichlet(void) {
  enum { N = 5, DRAWS = 4000 };
  const double total = 3.0, alpha = total / N;
  double mean[N] = {0}, square[N] = {0}, draw[N];
  const uint16_t moves[N] = {0, 3, 4, 9, 25};
  const uint8_t seed[32] = {1, 2, 3};
  for (uint32_t ply = 0; ply < DRAWS; ply++) {
    double sum = 0.0;
    CHECK(go_dirichlet(seed, ply, total, moves, N, draw) == GO_OK);
    for (int i = 0; i < N; i++) {
      sum += draw[i];
      mean[i] += draw[i] / DRAWS;
      square[i] += draw[i] * draw[i] / DRAWS;
    }
    CHECK(fabs(sum - 1.0) < 1e-12);
  }
  const double want = 1.0 / N, spread = alpha * (total - alpha) / (total * total * (total + 1.0));
  for (int i = 0; i < N; i++) {
    CHECK(fabs(mean[i] - want) < 0.012);
    CHECK(fabs(square[i] - mean[i] * mean[i] - spread) < 0.006);
  }
  /* a move's number depends on its own stream alone: the same Gammas, normalised over fewer */
  double two[2];
  CHECK(go_dirichlet(seed, 0, 2 * alpha, moves + 1, 2, two) == GO_OK);
  CHECK(go_dirichlet(seed, 0, total, moves, N, draw) == GO_OK);
  CHECK(fabs(two[0] / two[1] - draw[1] / draw[2]) < 1e-9 * (draw[1] / draw[2]));
  CHECK(go_dirichlet(seed, 0, 1e-6, moves, N, draw) == GO_OK); /* no underflow to 0 / 0 */
  double sum = 0.0;
  for (int i = 0; i < N; i++) sum += draw[i];
  CHECK(sum == 1.0);
  CHECK(go_dirichlet(seed, 0, 0.0, moves, N, draw) == GO_ERR_ARGUMENT);
  CHECK(go_dirichlet(seed, 0, 1.0, moves, 0, draw) == GO_ERR_ARGUMENT);
}

static void test_gamma(void) {
  const double alphas[] = {0.4, 2.5};
  for (int a = 0; a < 2; a++) {
    double mean = 0.0, square = 0.0;
    for (uint32_t i = 0; i < 20000; i++) {
      go_stream stream = go_stream_open((const uint8_t[32]){9}, i, GO_PURPOSE_NOISE, 0);
      const double g = exp(go_stream_log_gamma(&stream, alphas[a]));
      mean += g / 20000;
      square += g * g / 20000;
    }
    CHECK(fabs(mean - alphas[a]) < 0.05 * alphas[a]);
    CHECK(fabs(square - mean * mean - alphas[a]) < 0.1 * alphas[a]);
  }
}

static void test_gumbel_numbers(void) {
  enum { DRAWS = 20000 };
  double mean = 0.0, square = 0.0;
  for (uint32_t i = 0; i < DRAWS; i++) {
    const double g = go_gumbel_draw((const uint8_t[32]){5}, i / 100, (uint16_t)(i % 100));
    mean += g / DRAWS;
    square += g * g / DRAWS;
  }
  CHECK(fabs(mean - 0.5772157) < 0.03);                    /* Euler's constant */
  CHECK(fabs(square - mean * mean - 1.6449341) < 0.06);    /* pi^2 / 6 */
}

/* Every next visit finds the moves that it needs: of `considered`, some have exactly the visits that are asked for. */
static void test_halving(void) {
  for (int32_t considered = 1; considered <= 40; considered++)
    for (int32_t visits = 1; visits <= 200; visits += considered % 3 + 1) {
      uint32_t count[40] = {0}, most = 0;
      go_halving halving;
      go_halving_begin(&halving, considered, visits);
      for (int32_t n = 0; n < visits; n++) {
        const uint32_t level = go_halving_next(&halving);
        int32_t move = 0;
        while (move < considered && count[move] != level) move++;
        CHECK(move < considered);
        if (move < considered && ++count[move] > most) most = count[move];
      }
      int32_t last = 0;
      for (int32_t move = 0; move < considered; move++) last += count[move] == most;
      CHECK(last >= 1 && (considered < 4 || visits < 4 * considered || last <= considered / 2));
    }
  go_halving halving;
  go_halving_begin(&halving, 5, 13);
  const uint32_t want[13] = {0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4};
  for (int n = 0; n < 13; n++) CHECK(go_halving_next(&halving) == want[n]);
}

/* ---- trees ---------------------------------------------------------------------------------------------- */

static void test_sums(go_search_config config) {
  go_player player = {NULL, {5}};
  const go_search_ids ids = ids_of(1);
  go_game *game;
  CHECK(go_game_new(&RULES, &game) == GO_OK);
  for (int ply = 0; ply < 12 && go_game_end(game) == GO_END_NONE; ply++) {
    go_ply a, b;
    uint8_t legal[26];
    CHECK(go_search_ply(&player, GO_KERNEL_SCALAR, &config, &ids, game, &a) == GO_OK);
    CHECK(go_search_ply(&player, GO_KERNEL_SCALAR, &config, &ids, game, &b) == GO_OK);
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    CHECK(go_game_legal(game, legal, sizeof legal) == GO_OK);
    int32_t visits = 0, target = 0;
    for (int p = 0; p < 26; p++) {
      visits += a.visits[p];
      target += a.policy_target[p];
      CHECK(legal[p] || (a.visits[p] == 0 && a.policy_target[p] == 0));
      CHECK(a.visits[p] > 0 || a.policy_target[p] == 0 || config.root == GO_ROOT_GUMBEL);
    }
    CHECK(a.ply == ply && a.kind == GO_PLY_FULL);
    CHECK(visits == config.visits_full - 1 && target == 65535);
    CHECK(legal[a.move] && a.visits[a.move] > 0);
    CHECK(a.nodes <= config.visits_full);
    CHECK(go_game_play(game, a.move, GO_EMPTY) == GO_OK);
  }
  go_game_free(game);
}

/* After black has filled all it needs and white has passed, a pass wins at once: the search must see it. */
static void test_finds_the_winning_pass(void) {
  go_player player = {NULL, {0}};
  const go_search_ids ids = ids_of(3);
  go_search_config config = PLAIN;
  config.visits_full = 200;
  const go_rules rules = {.rows = 3, .cols = 3, .ko = GO_KO_POSITIONAL, .komi_half = 1, .move_cap = 27};
  const uint8_t stones[9] = {0, 1, 0, 1, 1, 1, 0, 1, 0};
  go_game *game;
  go_ply ply;
  CHECK(go_game_new(&rules, &game) == GO_OK);
  CHECK(go_game_setup(game, stones, 9, GO_WHITE) == GO_OK);
  CHECK(go_game_play(game, 9, GO_WHITE) == GO_OK);
  CHECK(go_search_ply(&player, GO_KERNEL_SCALAR, &config, &ids, game, &ply) == GO_OK);
  CHECK(ply.move == 9 && ply.visits[9] > 100);
  CHECK(ply.value > 1 << 23);
  CHECK(ply.score > 0 && ply.score <= 17 * 2048);
  CHECK(go_game_play(game, 9, GO_EMPTY) == GO_OK);
  CHECK(go_search_ply(&player, GO_KERNEL_SCALAR, &config, &ids, game, &ply) == GO_ERR_FINISHED);
  go_game_free(game);
}

static void test_kind(void) {
  go_player player = {NULL, {0}};
  go_search_config config = PLAIN;
  config.full_share_ppm = 250000;
  config.visits_full = 4;
  config.visits_fast = 2;
  go_game *game;
  CHECK(go_game_new(&RULES, &game) == GO_OK);
  int full = 0;
  for (int seed = 0; seed < 256; seed++) {
    go_ply ply;
    const go_search_ids ids = ids_of((uint8_t)seed);
    CHECK(go_search_ply(&player, GO_KERNEL_SCALAR, &config, &ids, game, &ply) == GO_OK);
    int32_t visits = 0, target = 0;
    for (int p = 0; p < 26; p++) {
      visits += ply.visits[p];
      target += ply.policy_target[p];
    }
    CHECK(visits == (ply.kind == GO_PLY_FULL ? 3 : 1));
    CHECK(target == (ply.kind == GO_PLY_FULL ? 65535 : 0));
    full += ply.kind;
  }
  CHECK(full > 40 && full < 90);
  go_game_free(game);
}

/* Forced playouts give every tried move its share, the target takes it back. */
static void test_pruning(void) {
  go_player player = {NULL, {0}};
  const go_search_ids ids = ids_of(3);
  const go_rules rules = {.rows = 3, .cols = 3, .ko = GO_KO_POSITIONAL, .komi_half = 1, .move_cap = 27};
  const uint8_t stones[9] = {0, 1, 0, 1, 1, 1, 0, 1, 0};
  go_search_config config = PLAIN;
  config.visits_full = 200;
  config.forced_playouts_micro = 2000000;
  go_game *game;
  go_ply ply;
  CHECK(go_game_new(&rules, &game) == GO_OK);
  CHECK(go_game_setup(game, stones, 9, GO_WHITE) == GO_OK);
  CHECK(go_game_play(game, 9, GO_WHITE) == GO_OK);
  CHECK(go_search_ply(&player, GO_KERNEL_SCALAR, &config, &ids, game, &ply) == GO_OK);
  int32_t others = 0;
  for (int p = 0; p < 9; p++) others += ply.visits[p];
  CHECK(ply.visits[0] >= 8); /* sqrt(2 * 1/5 * 199) = 8.9 */
  CHECK(65535 - ply.policy_target[9] < 65535 * others / 199 * 2 / 3);
  go_game_free(game);
}

static void test_config(void) {
  go_player player = {NULL, {0}};
  const go_search_ids ids = ids_of(0);
  go_game *game;
  go_ply ply;
  CHECK(go_game_new(&RULES, &game) == GO_OK);
  go_search_config config = PLAIN;
  config.root = GO_ROOT_GUMBEL + 1;
  CHECK(go_search_config_check(&config) == GO_ERR_ARGUMENT);
  config.root = GO_ROOT_GUMBEL;
  config.gumbel_considered = 0;
  CHECK(go_search_config_check(&config) == GO_ERR_ARGUMENT);
  config.gumbel_considered = 363;
  CHECK(go_search_config_check(&config) == GO_ERR_ARGUMENT);
  config.gumbel_considered = 362;
  CHECK(go_search_ply(&player, GO_KERNEL_SCALAR, &config, &ids, game, &ply) == GO_OK);
  config = PLAIN;
  config.visits_fast = 1;
  CHECK(go_search_ply(&player, GO_KERNEL_SCALAR, &config, &ids, game, &ply) == GO_ERR_ARGUMENT);
  config = PLAIN;
  config.noise_weight_ppm = 1;
  CHECK(go_search_config_check(&config) == GO_ERR_ARGUMENT);
  config.noise_alpha_micro = 1;
  CHECK(go_search_config_check(&config) == GO_OK);
  CHECK(go_search_ply(&player, 99, &PLAIN, &ids, game, &ply) == GO_ERR_KERNEL);
  CHECK(go_search_ply(NULL, GO_KERNEL_SCALAR, &PLAIN, &ids, game, &ply) == GO_ERR_ARGUMENT);
  go_game_free(game);
}

/* ---- self-test ------------------------------------------------------------------------------------------ */

static void test_selftest(void) {
  uint8_t digest[32];
  for (int32_t kernel = GO_KERNEL_BEST; kernel <= GO_KERNEL_LAST; kernel++) {
    const int32_t is_here = kernel == GO_KERNEL_BEST || go_kernel_available(kernel);
    CHECK(go_search_selftest(kernel) == (is_here ? GO_OK : GO_ERR_KERNEL));
  }
  CHECK(go_search_selftest_digest(GO_KERNEL_SCALAR, digest) == GO_OK);
  if (go_search_selftest(GO_KERNEL_SCALAR) == GO_OK) return;
  for (int i = 0; i < 32; i++) fprintf(stderr, "0x%02x,%s", digest[i], i % 16 == 15 ? "\n" : " ");
}

int main(void) {
  test_exp_log();
  test_fixed_point();
  test_dirichlet();
  test_gamma();
  test_gumbel_numbers();
  test_halving();
  test_sums(noisy());
  test_sums(gumbel());
  test_finds_the_winning_pass();
  test_kind();
  test_pruning();
  test_config();
  test_selftest();
  return CHECK_RESULT;
}
