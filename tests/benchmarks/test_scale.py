"""The paper model: its constants are the code's, what is sent is received, nothing falls with the number of nodes."""

import ast
import inspect
import json
import re
from dataclasses import replace
from itertools import pairwise
from math import isclose

import pytest

from benchmarks import all as every
from benchmarks.scale import __main__ as scale
from benchmarks.scale.assumptions import ASSUMED, CODE, DAY_S, DEFAULT, KINDS, LARGE, MEASURED, Assumptions, turned
from benchmarks.scale.limits import RESOURCES, breaks_at, in_order
from benchmarks.scale.model import BYTES_PER_MBIT, Load, load, speed
from benchmarks.scale.sizes import sizes, verdict_bytes
from node.founding.manifest_file import load_manifest
from node.peering.libp2p import host as libp2p_host
from protocol.entries import parse_entry
from tests.vectors.record_examples import log_entries

RUNS = pytest.mark.parametrize("given", [DEFAULT, LARGE], ids=["default", "large"])
GROWING = (
    *("plies_s", "games_s", "batches_s", "batch_bytes_s", "headers_s", "verdicts_s", "openings_s", "entries_s"),
    *("log_bytes_s", "verifiers", "verifiers_needed", "replay_core_s", "check_core_s", "full_down_bytes_s"),
    *("full_core_share", "full_memory_bytes", "first_sync_s", "gossip_messages_s", "have_lists", "release_bytes"),
    *("passed_on_bytes_s", "passed_posts", "release_s", "coordinator_down_bytes_s", "coordinator_up_bytes_s"),
    *("coordinator_core_share", "coordinator_signatures_s", "coordinator_disk_bytes_day", "held_rows", "never_used"),
)


def test_every_number_has_a_unit_and_a_source() -> None:
    for row in DEFAULT.facts():
        assert row["unit"], row
        assert row["source"], row
        assert row["kind"] in KINDS, row
    assert {row["kind"] for row in DEFAULT.facts()} == {CODE, MEASURED, ASSUMED}


def test_a_measured_number_names_a_benchmark_that_is_there() -> None:
    names = {*every.NAMES, "scale"}
    for row in DEFAULT.facts():
        if row["kind"] == MEASURED:
            found = re.match(r"benchmarks\.(\w+)", str(row["source"]))
            assert found, row
            assert found[1] in names, row


def test_numbers_of_the_run_are_the_default_manifest() -> None:
    manifest = load_manifest(None)
    policy = manifest.admission
    assert DEFAULT.games_per_batch == policy.games_per_batch
    assert DEFAULT.probation_batches == policy.probation_batches
    assert DEFAULT.hold_back_batches == policy.hold_back_batches
    assert (DEFAULT.epoch_entries, DEFAULT.timeout_entries) == (policy.epoch_entries, policy.timeout_entries)
    assert DEFAULT.q * 10**6 == policy.q_min_ppm
    assert DEFAULT.samples_per_row * 1000 == manifest.training.samples_per_row_milli


def test_the_degree_is_the_one_that_gossipsub_is_made_with() -> None:
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(libp2p_host))) if isinstance(node, ast.Call)]
    made = next(call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "GossipSub")
    given = {each.arg: ast.literal_eval(each.value) for each in made.keywords if isinstance(each.value, ast.Constant)}
    assert given["degree"] == DEFAULT.degree


def test_no_assumption_may_be_nothing() -> None:
    with pytest.raises(ValueError, match="above 0"):
        replace(DEFAULT, parallel=0.0)
    with pytest.raises(ValueError, match="sum to 1"):
        replace(DEFAULT, machines=DEFAULT.machines[1:])


def test_sizes_are_those_of_entries() -> None:
    logged = {type(parse_entry(data).record).NAME: len(data) for data in log_entries()}
    made = sizes()
    assert made.header == logged["batch-header"]
    assert made.opening == logged["trace-opening"]
    assert made.share_set + made.share == logged["share-set"]
    assert made.registration == logged["registration"]
    assert verdict_bytes(3) == verdict_bytes(2) + 1


@RUNS
@pytest.mark.parametrize("nodes", [1, 100, 100_000])
def test_what_is_sent_is_received(given: Assumptions, nodes: int) -> None:
    found = load(given, nodes)
    sent = sum(nodes * each.share * speed(given, each).up_bytes_s for each in given.machines)
    header_bytes_s = found.batches_s * sizes().header
    assert isclose(sent, found.batch_bytes_s + header_bytes_s)
    assert isclose(found.batches_s * given.games_per_batch, found.games_s)
    assert isclose(found.games_s * given.plies_per_game, found.plies_s)
    assert found.coordinator_down_bytes_s > sent  # verdicts and traces come in as well
    followers = nodes + found.verifiers
    # The coordinator gives the log to those linked to it, 192 at most, and answers 40 of them a second.
    log_out = min(followers, 192, 40 / found.heads_s) * found.log_bytes_s
    assert found.coordinator_up_bytes_s > log_out + found.batch_bytes_s
    # Whoever does not have the log from it has it from another follower.
    assert isclose(followers * found.log_bytes_s, log_out + followers * found.passed_on_bytes_s)
    assert found.full_up_bytes_s > found.passed_on_bytes_s


@RUNS
@pytest.mark.parametrize("nodes", [1, 100, 10_000])
def test_entries_are_the_sum_of_their_kinds(given: Assumptions, nodes: int) -> None:
    found = load(given, nodes)
    # Each gate assignment and its result; verdicts and openings of results are counted among the others.
    parts = found.headers_s + found.verdicts_s + found.openings_s + found.gate_entries_s + found.other_entries_s
    assert isclose(parts, found.entries_s)
    assert isclose(found.log_bytes_day, found.log_bytes_s * 86_400)
    assert isclose(found.timeout_s * found.entries_s, given.timeout_entries)
    mean = found.log_bytes_s / found.entries_s
    assert min(len(data) for data in log_entries()) < mean < sizes().share_set + found.verifiers * sizes().share
    month_s = DAY_S * given.keep_days
    assert isclose(found.full_memory_bytes / given.entry_memory_bytes / month_s, found.entries_s)


@RUNS
def test_no_load_falls_when_nodes_are_more(given: Assumptions) -> None:
    found = [load(given, 10**power) for power in range(7)]
    for name in GROWING:
        values = [getattr(each, name) for each in found]
        assert all(a <= b * (1 + 1e-9) for a, b in pairwise(values)), (name, values)
    assert all(0 <= each.never_used <= 1 for each in found)
    assert all(3 <= each.verifiers <= given.most_verifiers for each in found)


@RUNS
def test_a_light_follower_does_not_pay_for_others(given: Assumptions) -> None:
    few, many = load(given, 1000, verifiers=5), load(given, 1_000_000, verifiers=5)
    assert many.light_down_bytes_s < 1.5 * few.light_down_bytes_s
    assert many.light_down_bytes_s < few.full_down_bytes_s
    assert many.full_down_bytes_s > 2 * few.full_down_bytes_s


def test_a_trainer_that_is_fed_little_uses_all_but_what_chance_leaves_out() -> None:
    slow = replace(DEFAULT, plies_per_core_s=1.0, gate_pairs=1, pairs_per_assignment=1)
    found = load(slow, 1)
    assert isclose(found.used_rows_s, found.plies_s, rel_tol=0.01)
    assert isclose(found.never_used, 2.718281828**-DEFAULT.samples_per_row, rel_tol=0.01)
    assert found.cycle_s * found.plies_s >= load_manifest(None).window.new_rows


@RUNS
def test_half_of_the_games_a_batch_is_twice_the_headers(given: Assumptions) -> None:
    whole, half = load(given, 1000), load(replace(given, games_per_batch=given.games_per_batch // 2), 1000)
    assert isclose(half.batches_s, 2 * whole.batches_s)
    assert isclose(half.plies_s, whole.plies_s)


@RUNS
def test_a_resource_breaks_at_the_first_node_too_many(given: Assumptions) -> None:
    for resource in RESOURCES:
        nodes = breaks_at(resource, given)
        if nodes is not None:
            assert resource.is_over(load(given, nodes)), resource.name
            assert nodes == 1 or not resource.is_over(load(given, nodes - 1)), resource.name


@RUNS
def test_resources_are_in_the_order_in_which_they_break(given: Assumptions) -> None:
    found = [nodes for nodes, _ in in_order(given)]
    assert len(found) == len(RESOURCES) == len({each.name for each in RESOURCES})
    broken = [nodes for nodes in found if nodes is not None]
    assert broken == sorted(broken)
    assert found[: len(broken)] == broken


@RUNS
def test_turned_knobs_are_still_a_run(given: Assumptions) -> None:
    run = turned(given)
    manifest = load_manifest(None)
    replace(
        manifest.admission,
        games_per_batch=run.games_per_batch,
        timeout_entries=run.timeout_entries,
        epoch_entries=run.epoch_entries,
        final_entries=run.final_entries,
    )  # raises what a manifest does not take
    batches = run.games_per_batch * run.plies_per_game * (run.points + 1) * 4
    assert batches <= manifest.limits.raw_bytes


def test_connections_are_contributors_and_verifiers() -> None:
    connections = next(each for each in RESOURCES if each.name == "coordinator and verifiers: connections")
    found = load(DEFAULT, 50, verifiers=7)
    assert found.coordinator_links == 57
    assert load(DEFAULT, 500, verifiers=7).coordinator_links == 192  # then it sheds
    assert connections.need(found) == 50
    # The coordinator has 192 less the verifiers, each of these 256 less the coordinator and eight other links.
    assert connections.limit(found) == (192 - 7) + 7 * (256 - 1 - 8)
    assert breaks_at(connections, DEFAULT, verifiers=7) == 1914 + 1


def test_posts_are_passed_on_only_when_the_coordinator_is_full() -> None:
    assert load(DEFAULT, 185, verifiers=7).passed_posts == 0
    found = load(DEFAULT, 370, verifiers=7)  # 185 of them are linked to it
    assert isclose(found.passed_posts, found.receipts_s / 2 / 7 * DEFAULT.post_s)


def test_have_lists_are_suppressed_when_enough_were_heard() -> None:
    assert load(DEFAULT, 60, verifiers=4).have_lists == 64
    unheard = DEFAULT.gossip_spread_s / DEFAULT.have_jitter_s
    assert load(DEFAULT, 9996, verifiers=4).have_lists == 64 + 10_000 * unheard


def test_a_swarm_takes_what_was_measured_and_longer_where_it_is_larger() -> None:
    fast = replace(DEFAULT, network_bytes=32 << 20)
    sixteen = load(fast, 12, verifiers=4)
    assert isclose(sixteen.release_s, 2.1 * sixteen.copy_s)
    assert isclose(load(fast, 60, verifiers=4).release_s, 2.1 * sixteen.copy_s * (1 + 6 / 32) / (1 + 4 / 32))
    assert load(DEFAULT, 10_000).release_s > 2 * load(DEFAULT, 10).release_s


def test_units_of_the_tables() -> None:
    found = load(DEFAULT, 1000)
    rows = {row["nodes"]: row["1,000"] for row in scale.loads(DEFAULT, [1000], None)}
    assert rows["batches, Mbit/s"] == found.batch_bytes_s * 8 / 1e6
    assert BYTES_PER_MBIT * 8 == 1e6
    assert rows["log growth, GB/day"] == found.log_bytes_s * 86_400 / 1e9
    assert rows["coordinator, disk, TB/day"] == found.coordinator_disk_bytes_day / 1e12
    assert rows["full follower, hours to start after a month"] == found.first_sync_s / 3600
    assert isinstance(found, Load)


def test_settings_replace_assumptions_and_nothing_else() -> None:
    run = scale.changed(DEFAULT, ["games_per_batch=64", "q=0.1"])
    assert (run.games_per_batch, run.q) == (64, 0.1)
    for wrong in ("nothing=1", "q", "q=many", "machines=1"):
        with pytest.raises(ValueError, match=r"^\S.*\.$"):
            scale.changed(DEFAULT, [wrong])


def test_the_command_prints_one_object(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["scale", "--nodes", "500", "--json"])
    scale.main()
    tables = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in tables["assumptions"]} == {row["name"] for row in DEFAULT.facts()}
    assert "500" in tables["default run: load"][0]


def test_the_page_shows_what_breaks_in_the_order_that_is_computed() -> None:
    text = scale.PAGE.read_text(encoding="utf-8").partition(scale.MARK)[2]
    for name, given in (("Default", DEFAULT), ("Large", LARGE)):
        shown = text.partition(f"## {name} run: what breaks, in order\n")[2].partition("## ")[0]
        places = [shown.find(f"  {resource.name}  ") for _, resource in in_order(given)]
        assert -1 not in places, "python -m benchmarks.scale --write"
        assert places == sorted(places), "python -m benchmarks.scale --write"
