/* Known answers for this build on this machine: arithmetic, random numbers, the search, and a kernel.
 *
 * The digest covers go_exp and go_log on a grid, a Dirichlet draw, and D and policy target of a few plies of both roots
 * with and without a network.
 * native/tests/test_search.c prints it when it differs; a new one means a new `semantics` id. */
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "exact_math.h"
#include "search.h"

static const uint8_t KNOWN[32] = {0xba, 0x90, 0x8a, 0xe2, 0x7d, 0xa7, 0xed, 0xfe, 0x7d, 0xde, 0x4b,
                                  0x43, 0x04, 0x3c, 0x8e, 0x4b, 0xf9, 0x12, 0x3b, 0x42, 0x20, 0x83,
                                  0x94, 0xc4, 0x8c, 0x26, 0x8c, 0xaa, 0xf1, 0x03, 0x4b, 0x33};
enum { GRID = 256, SIDE = 7, MOVES = SIDE * SIDE + 1, PLIES = 3, GAMES = 4, NOISE = 20, BLOCKS = 2, CHANNELS = 16 };

typedef struct go_sponge {
  uint8_t *at;
  uint8_t bytes[8 * (2 * GRID + NOISE) + GAMES * PLIES * (32 + 2 * MOVES)];
} go_sponge;

static void absorb(go_sponge *sponge, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  go_write_u64(sponge->at, bits);
  sponge->at += 8;
}

static void absorb_arithmetic(go_sponge *sponge, const uint8_t seed[32]) {
  uint16_t moves[NOISE];
  double noise[NOISE];
  for (int i = 0; i < GRID; i++) {
    absorb(sponge, go_exp(-0.37 * (double)i));
    absorb(sponge, go_log(0.0137 * (double)(i + 1)));
  }
  for (int i = 0; i < NOISE; i++) moves[i] = (uint16_t)i;
  go_dirichlet(seed, 1, 0.6, moves, NOISE, noise);
  for (int i = 0; i < NOISE; i++) absorb(sponge, noise[i]);
}

/* The first plies of a game, each move played as the search chose it. */
static int absorb_game(go_sponge *sponge, const go_net *net, int32_t root, int32_t kernel, const uint8_t seed[32]) {
  static const go_rules rules = {.rows = SIDE, .cols = SIDE, .ko = GO_KO_POSITIONAL, .komi_half = 13, .move_cap = 147};
  const go_search_config config = {
      .root = root, .visits_full = 48, .visits_fast = 16, .full_share_ppm = 700000, .cpuct_micro = 1100000,
      .fpu_reduction_micro = 200000, .root_fpu_reduction_micro = 100000, .noise_weight_ppm = 250000,
      .noise_alpha_micro = 10830000, .root_temperature_micro = 1150000, .forced_playouts_micro = 2000000,
      .score_utility_micro = 100000, .temperature_start_micro = 800000, .temperature_end_micro = 200000,
      .temperature_halflife = 7, .gumbel_considered = 16, .gumbel_noise_micro = 1000000,
      .gumbel_c_visit_micro = 50000000, .gumbel_c_scale_micro = 1000000, .symmetry = 1};
  const go_player player = {.net = net};
  go_search_ids ids = {{0}, {0}};
  go_game *game;
  go_ply ply;
  memcpy(ids.game_seed, seed, 32);
  int status = go_game_new(&rules, &game);
  if (status != GO_OK) return status;
  for (int i = 0; i < PLIES && status == GO_OK; i++) {
    status = go_search_ply(&player, kernel, &config, &ids, game, &ply);
    if (status != GO_OK) break;
    memcpy(sponge->at, ply.digest, 32);
    sponge->at += 32;
    for (int32_t move = 0; move < MOVES; move++, sponge->at += 2) go_write_u16(sponge->at, ply.policy_target[move]);
    status = go_game_play(game, ply.move, GO_EMPTY);
  }
  go_game_free(game);
  return status;
}

static int first_net(const uint8_t seed[32], go_net **out) {
  char why[128];
  size_t len = 0;
  go_net_first(seed, BLOCKS, CHANNELS, NULL, &len);
  uint8_t *file = malloc(len);
  if (!file) return GO_ERR_MEMORY;
  int status = go_net_first(seed, BLOCKS, CHANNELS, file, &len);
  if (status == GO_OK) status = go_net_load(file, len, out, why, sizeof why);
  free(file);
  return status;
}

int go_search_selftest_digest(int32_t kernel, uint8_t digest[32]) {
  go_sponge sponge = {.at = NULL, .bytes = {0}};
  uint8_t seed[32];
  go_net *net;
  sponge.at = sponge.bytes;
  go_sha256((const uint8_t *)"gonode/selftest/v1", 18, seed);
  const go_fp_mode before = go_fp_enter();
  absorb_arithmetic(&sponge, seed);
  int status = first_net(seed, &net);
  if (status == GO_OK) {
    for (int32_t game = 0; game < GAMES && status == GO_OK; game++) {
      const int32_t root = game < 2 ? GO_ROOT_PUCT : GO_ROOT_GUMBEL;
      status = absorb_game(&sponge, game % 2 ? net : NULL, root, kernel, seed);
    }
    go_net_free(net);
  }
  go_fp_leave(before);
  if (status == GO_OK) go_sha256(sponge.bytes, sizeof sponge.bytes, digest);
  return status;
}

int go_search_selftest(int32_t kernel) {
  uint8_t digest[32];
  const int status = go_search_selftest_digest(kernel, digest);
  if (status != GO_OK) return status;
  return memcmp(digest, KNOWN, sizeof digest) == 0 ? GO_OK : GO_ERR_MISMATCH;
}
