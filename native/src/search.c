#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exact_math.h"
#include "random.h"

static const double MICRO = 1e6;
enum { ONE_MICRO = 1000000, VISITS_MAX = 65535, PLIES_MAX = GO_MAX_MOVES };

/* ---- life ----------------------------------------------------------------------------------------------- */

int go_search_new(int32_t kernel, size_t cache_bytes, go_search **out) {
  go_search *search = calloc(1, sizeof *search);
  if (!search) return GO_ERR_MEMORY;
  const int status = go_leaf_new(kernel, cache_bytes, &search->leaf);
  if (status != GO_OK) {
    free(search);
    return status;
  }
  *out = search;
  return GO_OK;
}

void go_search_free(go_search *search) {
  if (!search) return;
  go_leaf_free(search->leaf);
  go_game_free(search->game);
  free(search->node);
  free(search->edge_prior);
  free(search->edge_move);
  free(search->trace);
  free(search);
}

static int in_range(int32_t x, int32_t low, int32_t high) { return x >= low && x <= high; }

int go_search_config_check(const go_search_config *c) {
  const int ok =
      c->root == GO_ROOT_PUCT && in_range(c->visits_full, 2, VISITS_MAX) && in_range(c->visits_fast, 2, VISITS_MAX) &&
      in_range(c->full_share_ppm, 0, ONE_MICRO) && in_range(c->cpuct_micro, 0, 100 * ONE_MICRO) &&
      in_range(c->fpu_reduction_micro, 0, 10 * ONE_MICRO) && in_range(c->root_fpu_reduction_micro, 0, 10 * ONE_MICRO) &&
      in_range(c->noise_weight_ppm, 0, ONE_MICRO) &&
      in_range(c->noise_alpha_micro, c->noise_weight_ppm > 0, 1000 * ONE_MICRO) &&
      in_range(c->root_temperature_micro, ONE_MICRO / 100, 100 * ONE_MICRO) &&
      in_range(c->forced_playouts_micro, 0, 100 * ONE_MICRO) && in_range(c->score_utility_micro, 0, 10 * ONE_MICRO) &&
      in_range(c->temperature_start_micro, 0, 10 * ONE_MICRO) && in_range(c->temperature_end_micro, 0, 10 * ONE_MICRO) &&
      in_range(c->temperature_halflife, 1, ONE_MICRO) && in_range(c->symmetry, 0, 1);
  return ok ? GO_OK : GO_ERR_ARGUMENT;
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static int reserve_nodes(go_search *search, uint32_t count) {
  if (count <= search->node_capacity) return GO_OK;
  go_node *node = realloc(search->node, count * sizeof *node);
  if (!node) return GO_ERR_MEMORY;
  search->node = node;
  search->node_capacity = count;
  return GO_OK;
}

static int reserve_edges(go_search *search, uint32_t count) {
  if (count <= search->edge_capacity) return GO_OK;
  uint32_t capacity = search->edge_capacity ? search->edge_capacity : 4096;
  while (capacity < count) capacity *= 2;
  double *prior = realloc(search->edge_prior, capacity * sizeof *prior);
  if (!prior) return GO_ERR_MEMORY;
  search->edge_prior = prior;
  uint16_t *move = realloc(search->edge_move, capacity * sizeof *move);
  if (!move) return GO_ERR_MEMORY;
  search->edge_move = move;
  search->edge_capacity = capacity;
  return GO_OK;
}

/* ---- selection ------------------------------------------------------------------------------------------ */

static double explore(const go_search *search, const go_node *node) {
  return search->tuning.cpuct * sqrt((double)(node->visits - 1) + 0.01);
}

static double to_move_view(const go_node *node, double utility) { return node->opponent ? -utility : utility; }

static double puct(const go_node *node, const go_node *child, double scale, uint32_t visits) {
  return to_move_view(node, child->utility) + scale * child->prior / (1.0 + (double)visits);
}

double go_search_puct(const go_search *search, const go_node *node, const go_node *child, uint32_t visits) {
  return puct(node, child, explore(search, node), visits);
}

/* The unvisited edge with the highest prior, the lowest move among equals. */
static uint16_t best_unvisited(const go_search *search, const go_node *node) {
  const double *prior = search->edge_prior + node->edges;
  double most = -0.5;
  uint16_t best = node->edge_count;
  for (uint16_t i = 0; i < node->edge_count; i++)
    if (prior[i] > most) {
      most = prior[i];
      best = i;
    }
  return best;
}

/* The child to descend to, or GO_NO_NODE: the unvisited edge. */
static uint32_t select_child(const go_search *search, uint32_t at) {
  const go_node *node = search->node + at;
  const go_tuning *t = &search->tuning;
  const double scale = explore(search, node), siblings = (double)(node->visits - 1);
  uint32_t best = GO_NO_NODE, forced = GO_NO_NODE;
  double most = -INFINITY;
  for (uint32_t i = node->first_child; i != GO_NO_NODE; i = search->node[i].sibling) {
    const go_node *child = search->node + i;
    if (at == 0 && t->forced > 0.0) {
      const double n = (double)child->visits;
      if (n * n < t->forced * child->prior * siblings && (forced == GO_NO_NODE || child->move < search->node[forced].move))
        forced = i;
    }
    const double u = puct(node, child, scale, child->visits);
    if (u > most || (u == most && child->move < search->node[best].move)) {
      most = u;
      best = i;
    }
  }
  if (forced != GO_NO_NODE) return forced;
  if (node->unvisited == node->edge_count) return best;
  const double reduction = at == 0 ? t->root_fpu_reduction : t->fpu_reduction;
  const double first = to_move_view(node, node->utility) - reduction * sqrt(node->visited_mass);
  const double u = first + scale * search->edge_prior[node->edges + node->unvisited];
  const uint16_t move = search->edge_move[node->edges + node->unvisited];
  return u > most || (u == most && move < search->node[best].move) ? GO_NO_NODE : best;
}

/* ---- growth --------------------------------------------------------------------------------------------- */

static void add_noise(go_search *search, const go_node *root, const go_search_ids *ids, int32_t ply) {
  double noise[GO_MAX_POINTS + 1];
  double *prior = search->edge_prior + root->edges;
  const double weight = search->tuning.noise_weight;
  go_dirichlet(ids->game_seed, (uint32_t)ply, search->tuning.noise_alpha, search->edge_move + root->edges,
               root->edge_count, noise);
  for (int32_t i = 0; i < root->edge_count; i++) prior[i] = (1.0 - weight) * prior[i] + weight * noise[i];
}

/* Gives a node its edges: the legal moves in order, with priors from `logits` (NULL: uniform). */
static int add_edges(go_search *search, uint32_t at, const go_game *game, const int32_t *logits) {
  const int32_t moves = game->board.points + 1;
  uint8_t legal[GO_MAX_POINTS + 1];
  double prob[GO_MAX_POINTS + 1];
  int32_t cooled[GO_MAX_POINTS + 1];
  int status = go_game_legal(game, legal, (size_t)moves);
  if (status == GO_OK) status = reserve_edges(search, search->edges + (uint32_t)moves);
  if (status != GO_OK) return status;
  const int32_t temperature = search->tuning.root_temperature_micro;
  if (logits && at == 0 && temperature != ONE_MICRO) {
    for (int32_t i = 0; i < moves; i++)
      cooled[i] = (int32_t)go_floor_div((int64_t)logits[i] * ONE_MICRO + temperature / 2, temperature);
    logits = cooled;
  }
  if (logits) {
    status = go_softmax(logits, legal, moves, prob);
    if (status != GO_OK) return status;
  }
  go_node *node = search->node + at;
  uint16_t *move = search->edge_move + search->edges;
  double *prior = search->edge_prior + search->edges;
  uint16_t count = 0;
  for (int32_t i = 0; i < moves; i++)
    if (legal[i]) {
      move[count] = (uint16_t)i;
      prior[count++] = logits ? prob[i] : 0.0;
    }
  if (!logits)
    for (uint16_t i = 0; i < count; i++) prior[i] = 1.0 / (double)count;
  node->edges = search->edges;
  node->edge_count = count;
  search->edges += count;
  return GO_OK;
}

/* The exact value and score of a finished game. */
static int judge(const go_search *search, const go_game *game, int64_t *value, int64_t *score) {
  int32_t half;
  const int status = go_game_score(game, &half, NULL, 0);
  if (status != GO_OK) return status;
  if (search->colour == GO_WHITE) half = -half;
  *value = half > 0 ? (int64_t)1 << 24 : half < 0 ? -((int64_t)1 << 24) : 0;
  *score = (int64_t)half * 2048;
  return GO_OK;
}

/* Evaluates a new node whose position is `game`; value and score in the view of the root's side. */
static int evaluate(go_search *search, uint32_t at, const go_player *player, const go_game *game, int64_t *value,
                    int64_t *score) {
  if (game->end != GO_END_NONE) return judge(search, game, value, score);
  go_answer answer = {NULL, 0, 0};
  if (player->net) {
    const int status = go_leaf_run(search->leaf, player->net, game, &answer);
    if (status != GO_OK) return status;
  }
  *value = player->net ? go_fix(go_tanh(answer.value), 24) : 0;
  *score = answer.score_mean;
  if (search->node[at].opponent) {
    *value = -*value;
    *score = -*score;
  }
  return add_edges(search, at, game, answer.policy);
}

static void back_up(go_search *search, uint32_t at, int64_t value, int64_t score) {
  const go_tuning *t = &search->tuning;
  for (; at != GO_NO_NODE; at = search->node[at].parent) {
    go_node *node = search->node + at;
    node->visits++;
    node->value_sum += value;
    node->score_sum += score;
    const double n = (double)node->visits;
    node->utility = (double)node->value_sum / n * 0x1p-24;
    if (t->score_utility > 0.0) {
      const double x = (double)node->score_sum / n * 0x1p-12;
      node->utility = node->utility + t->score_utility * (x / sqrt(x * x + t->squash));
    }
  }
}

static uint32_t add_node(go_search *search, uint32_t parent, uint16_t move, double prior) {
  const uint32_t at = search->nodes++;
  search->node[at] = (go_node){.prior = prior, .parent = parent, .first_child = GO_NO_NODE, .last_child = GO_NO_NODE,
                               .sibling = GO_NO_NODE, .move = move};
  if (parent == GO_NO_NODE) return at;
  go_node *above = search->node + parent;
  search->node[at].opponent = !above->opponent;
  if (above->last_child == GO_NO_NODE) above->first_child = at;
  else search->node[above->last_child].sibling = at;
  above->last_child = at;
  above->visited_mass += prior;
  return at;
}

/* One visit below the root. */
static int visit(go_search *search, const go_player *player, const go_game *root) {
  int64_t value, score;
  int status = go_game_copy_into(search->game, root);
  uint32_t at = 0;
  search->game->rules.settled_end = 0; /* costly to ask, and known of every node but the new one */
  while (status == GO_OK) {
    go_node *node = search->node + at;
    if (node->edge_count == 0) { /* the game is over here, and was judged before: the same again */
      value = node->value_sum / (int64_t)node->visits;
      score = node->score_sum / (int64_t)node->visits;
      break;
    }
    uint32_t next = select_child(search, at);
    const int fresh = next == GO_NO_NODE;
    if (fresh) {
      const uint32_t edge = node->edges + node->unvisited;
      next = add_node(search, at, search->edge_move[edge], search->edge_prior[edge]);
      search->edge_prior[edge] = -1.0;
      node->unvisited = best_unvisited(search, node);
      search->game->rules.settled_end = root->rules.settled_end;
    }
    status = go_game_play(search->game, search->node[next].move, GO_EMPTY);
    at = next;
    if (fresh && status == GO_OK) {
      status = evaluate(search, at, player, search->game, &value, &score);
      search->node[at].unvisited = best_unvisited(search, search->node + at);
      break;
    }
  }
  if (status == GO_OK) back_up(search, at, value, score);
  return status;
}

/* ---- one ply -------------------------------------------------------------------------------------------- */

static go_tuning tune(const go_search_config *c, const go_search_ids *ids, const go_game *game) {
  go_stream stream = go_stream_open(ids->game_seed, (uint32_t)game->moves, GO_PURPOSE_KIND, 0);
  uint32_t word[4];
  go_stream_words(&stream, word);
  const int full = (uint64_t)word[0] * ONE_MICRO >> 32 < (uint64_t)c->full_share_ppm;
  const double fpu = (double)c->fpu_reduction_micro / MICRO;
  return (go_tuning){.kind = full ? GO_PLY_FULL : GO_PLY_FAST,
                     .visits = full ? c->visits_full : c->visits_fast,
                     .cpuct = (double)c->cpuct_micro / MICRO,
                     .fpu_reduction = fpu,
                     .root_fpu_reduction = full ? (double)c->root_fpu_reduction_micro / MICRO : fpu,
                     .noise_weight = full ? (double)c->noise_weight_ppm / MICRO : 0.0,
                     .noise_alpha = (double)c->noise_alpha_micro / MICRO,
                     .forced = full ? (double)c->forced_playouts_micro / MICRO : 0.0,
                     .score_utility = (double)c->score_utility_micro / MICRO,
                     .squash = 4.0 * (double)game->board.points,
                     .root_temperature_micro = full ? c->root_temperature_micro : ONE_MICRO};
}

static int plant(go_search *search, const go_player *player, const go_search_ids *ids, const go_game *game) {
  search->nodes = 0;
  search->edges = 0;
  search->colour = game->to_move;
  int status = reserve_nodes(search, (uint32_t)search->tuning.visits);
  if (status == GO_OK && !search->game) status = go_game_copy(game, &search->game);
  if (status != GO_OK) return status;
  int64_t value, score;
  const uint32_t root = add_node(search, GO_NO_NODE, 0xffff, 1.0);
  status = evaluate(search, root, player, game, &value, &score);
  if (status != GO_OK) return status;
  if (search->tuning.noise_weight > 0.0) add_noise(search, search->node, ids, game->moves);
  search->node->unvisited = best_unvisited(search, search->node);
  back_up(search, root, value, score);
  return GO_OK;
}

int go_search_run(go_search *search, const go_player *player, const go_search_config *config, const go_search_ids *ids,
                  const go_game *game, const atomic_int *stop, go_ply *out) {
  int status = go_search_config_check(config);
  if (status != GO_OK) return status;
  if (game->end != GO_END_NONE) return GO_ERR_FINISHED;
  if (game->moves >= PLIES_MAX) return GO_ERR_ARGUMENT;
  search->tuning = tune(config, ids, game);
  status = plant(search, player, ids, game);
  for (int32_t n = 1; n < search->tuning.visits && status == GO_OK; n++) {
    if (stop && atomic_load_explicit(stop, memory_order_relaxed)) return GO_ERR_STOPPED;
    status = visit(search, player, game);
  }
  if (status != GO_OK) return status;
  const go_node *root = search->node;
  memset(out, 0, sizeof *out);
  out->ply = game->moves;
  out->kind = search->tuning.kind;
  out->nodes = (int32_t)search->nodes;
  out->value = (int32_t)go_mean(root->value_sum, root->visits);
  out->score = (int32_t)go_mean(root->score_sum, root->visits);
  go_search_choose(search, config, ids, game->moves, game->board.points, out);
  return go_search_trace(search, player->release, ids, (uint32_t)game->moves, out->digest);
}

int go_search_ply(const go_player *player, int32_t kernel, const go_search_config *config, const go_search_ids *ids,
                  const go_game *game, go_ply *out) {
  if (!player || !config || !ids || !game || !out) return GO_ERR_ARGUMENT;
  go_search *search;
  int status = go_search_new(kernel, 0, &search);
  if (status != GO_OK) return status;
  const go_fp_mode before = go_fp_enter();
  status = go_leaf_begin(search->leaf, player->net, NULL, ids->game_seed, config->symmetry);
  if (status == GO_OK) status = go_search_run(search, player, config, ids, game, NULL, out);
  go_fp_leave(before);
  go_search_free(search);
  return status;
}
