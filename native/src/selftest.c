/* Known answers for this build on this machine: arithmetic, random numbers, the search, and a kernel.
 *
 * The digest covers go_exp and go_log on a grid, a Dirichlet draw, and D of a few plies with and without a network.
 * native/tests/test_search.c prints it when it differs; a new one means a new `semantics` id. */
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "exact_math.h"
#include "search.h"

static const uint8_t KNOWN[32] = {0x90, 0xdc, 0xf2, 0xa1, 0xdf, 0x22, 0x7d, 0x1a, 0xed, 0xfc, 0x6e,
                                  0x66, 0x82, 0x3b, 0x32, 0x4a, 0x9e, 0xa3, 0x16, 0xec, 0x8e, 0xa5,
                                  0xc1, 0x34, 0x0f, 0xc3, 0xc0, 0xf8, 0x5f, 0x20, 0x9b, 0x1b};
enum { GRID = 256, SIDE = 7, PLIES = 3, NOISE = 20, BLOCKS = 2, CHANNELS = 16 };

typedef struct go_sponge {
  uint8_t *at;
  uint8_t bytes[8 * (2 * GRID + NOISE) + 2 * 32 * PLIES];
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

/* D of the first plies of a game, each move played as the search chose it. */
static int absorb_game(go_sponge *sponge, const go_net *net, int32_t kernel, const uint8_t seed[32]) {
  static const go_rules rules = {.rows = SIDE, .cols = SIDE, .ko = GO_KO_POSITIONAL, .komi_half = 13, .move_cap = 147};
  static const go_search_config config = {
      .visits_full = 48, .visits_fast = 16, .full_share_ppm = 700000, .cpuct_micro = 1100000,
      .fpu_reduction_micro = 200000, .root_fpu_reduction_micro = 100000, .noise_weight_ppm = 250000,
      .noise_alpha_micro = 10830000, .root_temperature_micro = 1150000, .forced_playouts_micro = 2000000,
      .score_utility_micro = 100000, .temperature_start_micro = 800000, .temperature_end_micro = 200000,
      .temperature_halflife = 7, .symmetry = 1};
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
  int status = absorb_game(&sponge, NULL, kernel, seed);
  if (status == GO_OK) status = first_net(seed, &net);
  if (status == GO_OK) {
    status = absorb_game(&sponge, net, kernel, seed);
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
