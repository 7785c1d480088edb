/* From a finished tree to the record of the ply: raw visits, policy target, move; and how a PUCT root gives the last two. */
#include "exact_math.h"
#include "random.h"
#include "search.h"

/* ---- policy target -------------------------------------------------------------------------------------- */

/* The child with the most visits, the lowest move among equals. */
static const go_node *most_visited(const go_search *search) {
  const go_node *best = NULL;
  for (uint32_t i = search->node->first_child; i != GO_NO_NODE; i = search->node[i].sibling) {
    const go_node *child = search->node + i;
    if (!best || child->visits > best->visits || (child->visits == best->visits && child->move < best->move)) best = child;
  }
  return best;
}

/* Visits of a child less those that only forced playouts gave it: as many as keep its PUCT below `limit`, the PUCT of
 * the most visited child; a child brought down to one visit loses that one too (Wu 2019, 3.2). */
static uint32_t pruned_visits(const go_search *search, const go_node *child, double limit) {
  const go_node *root = search->node;
  const double forced = search->tuning.forced * child->prior * (double)(root->visits - 1);
  uint32_t visits = child->visits;
  for (uint32_t taken = 0; visits > 0 && (double)taken * (double)taken < forced; taken++) {
    if (!(go_search_puct(search, root, child, visits - 1) < limit)) break;
    visits--;
  }
  return visits == 1 && child->visits > 1 ? 0 : visits;
}

static void weigh_by_visits(const go_search *search, uint32_t *weight) {
  const go_node *best = most_visited(search);
  const double limit = go_search_puct(search, search->node, best, best->visits);
  for (uint32_t i = search->node->first_child; i != GO_NO_NODE; i = search->node[i].sibling) {
    const go_node *child = search->node + i;
    weight[child->move] =
        search->tuning.forced > 0.0 && child != best ? pruned_visits(search, child, limit) : child->visits;
  }
}

/* weight[i] as shares of 65535: share i is the step of floor(65535 * cumulative / total). */
static void shares(const uint32_t *weight, int32_t moves, uint16_t *out) {
  uint64_t total = 0, sum = 0, before = 0;
  for (int32_t i = 0; i < moves; i++) total += weight[i];
  for (int32_t i = 0; i < moves; i++) {
    sum += weight[i];
    const uint64_t now = sum * 65535 / total;
    out[i] = (uint16_t)(now - before);
    before = now;
  }
}

/* ---- move ----------------------------------------------------------------------------------------------- */

static double move_temperature(const go_search_config *c, int32_t ply) {
  const double start = (double)c->temperature_start_micro / 1e6, end = (double)c->temperature_end_micro / 1e6;
  const double half = go_exp((double)ply / (double)c->temperature_halflife * -0x1.62e42fefa39efp-1);
  return end + (start - end) * half;
}

/* Draws a move with chances weight^(1 / temperature); at temperature 0 the first of the heaviest. */
static int32_t draw_move(const uint32_t *weight, int32_t moves, double temperature, const go_search_ids *ids, int32_t ply) {
  int32_t heaviest = 0, last = 0;
  for (int32_t i = 1; i < moves; i++)
    if (weight[i] > weight[heaviest]) heaviest = i;
  if (!(temperature > 0.0)) return heaviest;
  double chance[GO_MAX_POINTS + 1], total = 0.0, sum = 0.0, u[2];
  for (int32_t i = 0; i < moves; i++) {
    chance[i] = 0.0;
    if (weight[i]) chance[i] = go_exp(go_log((double)weight[i] / (double)weight[heaviest]) / temperature);
    total += chance[i];
  }
  go_stream stream = go_stream_open(ids->game_seed, (uint32_t)ply, GO_PURPOSE_MOVE, 0);
  go_stream_pair(&stream, u);
  for (int32_t i = 0; i < moves; i++) {
    if (!(chance[i] > 0.0)) continue;
    sum += chance[i];
    last = i;
    if (u[0] * total < sum) break;
  }
  return last;
}

void go_search_choose(const go_search *search, const go_search_config *config, const go_search_ids *ids, int32_t ply,
                      int32_t points, go_ply *out) {
  uint32_t weight[GO_MAX_POINTS + 1] = {0};
  for (uint32_t i = search->node->first_child; i != GO_NO_NODE; i = search->node[i].sibling)
    out->visits[search->node[i].move] = (uint16_t)search->node[i].visits;
  if (config->root == GO_ROOT_GUMBEL) {
    out->move = go_gumbel_choose(search, weight);
  } else {
    weigh_by_visits(search, weight);
    out->move = draw_move(weight, points + 1, move_temperature(config, ply), ids, ply);
  }
  if (search->tuning.kind == GO_PLY_FULL) shares(weight, points + 1, out->policy_target);
}
