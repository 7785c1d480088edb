"""The pages as a browser gets them: they say what the log says, as HTML and as JSON, with tags, permanent names, limits."""

import re
import shutil
import sqlite3
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from node.disk.home import Home
from node.matches.ratings import gate_ratings
from node.web.app import make_app
from node.web.faults import Faults
from node.web.guard import AT_ONCE
from node.web.model.schema import NAME, open_to_write
from protocol.envelope import Envelope
from protocol.layout import release_path
from protocol.proof import Ban, FraudProof
from tests.node.homes import grown_world, make_home
from tests.node.reports.small_run import ENTRIES_A_HEAD, FIRST_UNIX_S, SECONDS_AN_ENTRY
from tests.node.web.pages import PAGES, fill, visiting, words
from tests.verification.gates import WON, accept, answer, assign, candidate, gated
from tests.verification.world import World
from verification.standing import standings

VOID = {"meta", "link", "input", "br", "img"}


class Outline(HTMLParser):
    """Elements in their order, and whether each is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def all_pages(world: World) -> list[str]:
    """A path of each kind."""
    peer = world.peers["ada"].public.hex()
    proof = proof_name(world)
    return [*PAGES, f"/releases/{world.state.release.id.hex()}", f"/contributors/{peer}", f"/proofs/{proof}"]


def proof_name(world: World) -> str:
    """The name of the one proof."""
    (key,) = world.state.convictions.banned
    entry = world.entries[world.state.convictions.banned_at(key)]
    return sha256(Ban.parse(Envelope.parse(entry).payload).proof).hexdigest()


async def test_every_page_is_whole_and_for_everybody(shown: Home, shown_world: World) -> None:
    async with visiting(shown) as visitor:
        for path in all_pages(shown_world):
            answer = await visitor.get(path)
            assert answer.status_code == 200, (path, words(answer.text))
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            outline = Outline(answer.text)
            assert outline.open == [], path
            names = [tag for tag, _ in outline.tags]
            assert names.count("h1") == names.count("main") == names[: names.index("body")].count("title") == 1
            assert names.count("table") == names.count("caption"), path
            for tag, attributes in outline.tags:
                assert tag != "th" or attributes.get("scope") in ("col", "row")
                assert tag != "img" or "alt" in attributes
                assert not {"style", "onclick"} & set(attributes), (path, tag)
                for name in ("href", "src", "action"):
                    assert (attributes.get(name) or "/").startswith(("/", "#")), (path, attributes)
            ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
            assert len(ids) == len(set(ids))
            labels = {each for _, attributes in outline.tags if (each := attributes.get("aria-labelledby"))}
            assert {each for label in labels for each in label.split()} <= set(ids)
            assert answer.text.index('class="skip"') < answer.text.index("<nav")
            assert f"at log {shown_world.state.size:,}, 2023-11-15 00:" in words(answer.text)


async def test_every_page_is_json_too(shown: Home, shown_world: World) -> None:
    async with visiting(shown) as visitor:
        for path in all_pages(shown_world):
            answer = await visitor.get(f"/api/v1{path}".rstrip("/"))
            assert answer.status_code == 200, path
            seen = answer.json()["seen"]
            assert seen["log_size"] == shown_world.state.size
            assert seen["log_root"] == shown_world.state.tree.root().hex()
            assert seen["run"] == shown_world.run.hex()
            assert answer.json()["answer"], path


async def test_the_run_at_a_glance(shown: Home, shown_world: World) -> None:
    state = shown_world.state
    async with visiting(shown) as visitor:
        found = (await visitor.get("/api/v1")).json()["answer"]
        html = (await visitor.get("/")).text
        without = (await visitor.get("/?refused=no&x=time")).text
    total = state.batches.total()
    everything = found["stretches"][-1]
    assert (everything["games"], everything["plies"], everything["verified_plies"]) == (
        total.games,
        total.plies,
        total.credit_plies,
    )
    assert everything["contributors"] == len(state.batches.identities)
    assert found["newest"]["id"] == state.release.id.hex()
    ratings = gate_ratings(state)
    assert {point["entry"]: (point["elo"], point["elo_error"]) for point in found["points"][1:]} == ratings
    best = max(state.releases.all[1:], key=lambda each: ratings[each.train_record][0])
    assert found["strongest"]["id"] == best.id.hex()
    assert (found["phase"], found["rows_missing"]) == ("rows", state.cycles.rows_missing())
    refused = sum(point["id"] is None for point in found["points"])
    assert refused > 0
    assert html.count('class="refused"') == refused
    assert html.count('class="release"') == len(state.releases.all)
    assert without.count('class="refused"') == 0
    assert "Elo above release 0" in words(html)


async def test_an_open_gate_says_what_is_played_before_it_counts(tmp_path: Path) -> None:
    world = candidate(gated(replay_ppm=10**6))
    first, second = assign(world, "ada"), assign(world, "bob")
    accept(world, answer(world, second, "bob", [WON, WON]))
    home = make_home(world, tmp_path / "gating")
    fill(home)
    async with visiting(home) as visitor:
        assert "0 pairs counted of 2 played" in words((await visitor.get("/")).text)
    accept(world, answer(world, first, "ada", [WON, WON]))
    home = make_home(world, tmp_path / "counted")
    fill(home)
    async with visiting(home) as visitor:
        page = words((await visitor.get("/")).text)
    assert "4 pairs" in page
    assert "counted of" not in page


async def test_releases(shown: Home, shown_world: World) -> None:
    state = shown_world.state
    newest = state.release
    async with visiting(shown) as visitor:
        listed = (await visitor.get("/api/v1/releases")).json()["answer"]
        assert [each["id"] for each in listed["items"]] == [each.id.hex() for each in reversed(state.releases.all)]
        assert listed["before"] is None
        older = (await visitor.get("/api/v1/releases?before=1")).json()["answer"]
        assert [each["number"] for each in older["items"]] == [0]
        found = (await visitor.get(f"/api/v1/releases/{newest.id.hex()}")).json()["answer"]
        text = words((await visitor.get(f"/releases/{newest.id.hex()}")).text)
    gate = state.gates.by_candidate(newest.train_record)
    assert gate is not None
    assert gate.record is not None
    assert (found["gate"]["pairs"], found["gate"]["state"]) == (gate.record.pairs, "passed")
    assert found["gate"]["counts"] == ",".join(map(str, gate.record.counts))
    assert [each["number"] for each in found["ancestry"]] == list(reversed(range(newest.number)))
    assert newest.name in text
    assert newest.network.hex() in text
    assert f"against release {gate.base.number}" in text


async def test_who_signed_a_release(shown: Home, shown_world: World) -> None:
    newest, first = shown_world.state.release, shown_world.state.releases.all[0]
    async with visiting(shown) as visitor:
        found = (await visitor.get(f"/api/v1/releases/{newest.id.hex()}")).json()["answer"]["signings"]
        text = words((await visitor.get(f"/releases/{newest.id.hex()}")).text)
        of_first = (await visitor.get(f"/api/v1/releases/{first.id.hex()}")).json()["answer"]["signings"]
    released, stated, head = found
    statement = shown_world.state.statements.find(newest.index)
    assert statement is not None
    assert (stated["act"], stated["at"], stated["signatures"][0]["name"]) == (
        "statement",
        statement.index,
        shown_world.root.roles[0].name,
    )
    assert (released["act"], released["at"], released["threshold"], released["most"]) == ("release", newest.index, 1, 1)
    assert [each["key"] for each in released["signatures"]] == [shown_world.coordinator.public.hex()]
    size = newest.index // ENTRIES_A_HEAD * ENTRIES_A_HEAD + ENTRIES_A_HEAD
    assert (head["act"], head["at"]) == ("head", size)
    assert (head["threshold"], head["most"]) == (shown_world.root.witness_threshold, len(shown_world.verifiers))
    at = FIRST_UNIX_S + SECONDS_AN_ENTRY * size
    verifiers = [(role.key.hex(), role.name, at) for role in shown_world.root.verifiers]
    assert [(each["key"], each["name"], each["unix_s"]) for each in head["signatures"]] == verifiers
    assert f"cosigned by {len(verifiers)} of {len(verifiers)} witnesses" in text
    assert f"entry {newest.index:,}: signed by 1 of 1 coordinators; 1 has to" in text
    manifest, _ = of_first
    assert (manifest["act"], manifest["at"]) == ("manifest", 1)
    assert [each["key"] for each in manifest["signatures"]] == [shown_world.root_key.public.hex()]


async def test_a_release_links_to_the_files_that_are_here(shown: Home, shown_world: World) -> None:
    newest = shown_world.state.release
    async with visiting(shown) as visitor:
        html = (await visitor.get(f"/releases/{newest.id.hex()}")).text
        (path,) = (found for found in re.findall(r'href="(/public/[^"]*)"', html) if "/release/" in found)
        assert Envelope.parse((await visitor.get(path)).content).digest == newest.id


async def test_a_file_that_comes_is_linked_though_the_log_is_the_same(tmp_path: Path) -> None:
    world = grown_world()
    home = make_home(world, tmp_path / "late")
    fill(home)
    place = release_path(world.state.release.number, world.state.release.name)
    file = home.public / place
    kept = file.with_name("elsewhere")
    file.rename(kept)
    async with visiting(home) as visitor:
        path = f"/releases/{world.state.release.id.hex()}"
        before = await visitor.get(path)
        tags = {"If-None-Match": before.headers["etag"]} if "etag" in before.headers else {}
        kept.rename(file)
        after = await visitor.get(path, headers=tags)
    link = f'href="/public/{place}"'
    assert (link in before.text, link in after.text) == (False, True)


async def test_verifiers_that_expire_later_are_witnesses_now(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "expiring")
    fill(home)
    path = f"/api/v1/releases/{grown_world().state.release.id.hex()}"
    for ends, count in ((grown_world().state.size + 1, 1), (grown_world().state.size, 0)):
        db = sqlite3.connect(home.directory / NAME)
        with db:
            db.execute("UPDATE roles SET ends = ? WHERE role = 'verifier'", (ends,))
        db.close()
        async with visiting(home) as visitor:
            assert (await visitor.get(path)).json()["answer"]["witnesses"] == count


async def test_contributors_and_their_credit(shown: Home, shown_world: World) -> None:
    rows = standings(shown_world.state)
    async with visiting(shown) as visitor:
        listed = (await visitor.get("/api/v1/contributors")).json()["answer"]["items"]
        assert [(each["key"], each["credit_plies"]) for each in listed] == [
            (row.peer.hex(), row.credit_plies) for row in rows
        ]
        assert [each["rank"] for each in listed] == [1, 2, 3]
        week = (await visitor.get("/api/v1/contributors?window=week")).json()["answer"]["items"]
        assert {each["key"] for each in week} == {each["key"] for each in listed}
        by_name = (await visitor.get("/api/v1/contributors?q=AD")).json()["answer"]["items"]
        assert [each["name"] for each in by_name] == ["ada"]
        by_key = (await visitor.get(f"/api/v1/contributors?q={listed[1]['key'][:9]}")).json()["answer"]["items"]
        assert [each["key"] for each in by_key] == [listed[1]["key"]]
        assert (await visitor.get("/api/v1/contributors?q=da")).json()["answer"]["items"] == []
        assert (await visitor.get("/api/v1/contributors?q=%25")).json()["answer"]["items"] == []
        before = f"{listed[0]['credit_plies']}-{listed[0]['number']}"
        rest = (await visitor.get(f"/api/v1/contributors?before={before}")).json()["answer"]["items"]
        assert [(each["key"], each["rank"]) for each in rest] == [(each["key"], each["rank"]) for each in listed[1:]]
        text = words((await visitor.get("/contributors?q=nobody")).text)
    assert "Nobody has a name or key that begins so." in text


async def test_one_contributor(shown: Home, shown_world: World) -> None:
    key = shown_world.peers["eve"].public
    identity = shown_world.state.batches.identity(key)
    assert identity is not None
    async with visiting(shown) as visitor:
        found = (await visitor.get(f"/api/v1/contributors/{key.hex()}")).json()["answer"]
        text = words((await visitor.get(f"/contributors/{key.hex()}")).text)
    assert found["contributor"]["standing"] == "banned"
    assert found["contributor"]["credit_plies"] == 0
    assert [each["entry"] for each in found["batches"]["items"]] == [
        batch.index for batch in reversed(identity.batches)
    ]
    assert found["batches"]["items"][0]["fate"] == "rejected"
    assert sum(day["rejected_plies"] for day in found["days"]) == identity.tally.plies
    assert "✗ rejected" in text
    assert "banned" in text


async def test_verification_and_bans(shown: Home, shown_world: World) -> None:
    state = shown_world.state
    total = state.batches.total()
    name = proof_name(shown_world)
    async with visiting(shown) as visitor:
        found = (await visitor.get("/api/v1/verification")).json()["answer"]
        assert (found["verified_games"], found["backlog_games"]) == (total.verified, total.pending)
        assert found["backlog"] == len(state.batches.open)
        assert [each["contributor"] for each in found["rejections"]["items"]] == [shown_world.peers["eve"].public.hex()]
        verdicts = [each for each in state.subjects.all if each.verdict is not None]
        assert found["checks"][-1]["verdicts"] == sum(each["verdicts"] for each in found["verifiers"]) == len(verdicts)
        assert found["checks"][-1]["rejections"] == 1
        (ban,) = (await visitor.get("/api/v1/bans")).json()["answer"]["items"]
        assert (ban["id"], ban["name"], ban["kind"], ban["rule"]) == (name, "eve", "ban", "ply")
        page = words((await visitor.get(f"/proofs/{name}")).text)
        assert "claim in game 0 the search of ply" in page
        assert f"curl -o proof http://pages.test/proofs/{name}/file" in page
        assert "gonode proof check proof --ticket TICKET" in page
        file = await visitor.get(f"/proofs/{name}/file")
    assert FraudProof.parse(file.content).header.index == ban["header"]
    assert "immutable" in file.headers["cache-control"]


async def test_a_proof_is_searched_here_and_shown_beside_its_claim(shown: Home, shown_world: World) -> None:
    name = proof_name(shown_world)
    async with visiting(shown) as visitor:
        answer = await visitor.get(f"/proofs/{name}")
        found = (await visitor.get(f"/api/v1/proofs/{name}")).json()["answer"]
    assert answer.headers["cache-control"] == "no-store"
    assert found["check"] == "holds"
    differing = {each["name"] for each in found["comparison"]["fields"] if each["differs"]}
    assert differing == {"value"}
    assert all(not point["differs"] for each in found["comparison"]["counts"] for point in each["points"])
    text = words(answer.text)
    assert "✓ holds This server checked it too." in text
    assert text.count("≠ differs") == 1
    assert "= same" in text
    assert answer.text.count('class="unlike"') == 1


async def test_where_the_network_is_not_here_nothing_is_searched(shown_world: World, tmp_path: Path) -> None:
    home = make_home(shown_world, tmp_path / "bare")
    fill(home)
    shutil.rmtree(home.public / "blob")
    name = proof_name(shown_world)
    async with visiting(home) as visitor:
        found = (await visitor.get(f"/api/v1/proofs/{name}")).json()["answer"]
        text = words((await visitor.get(f"/proofs/{name}")).text)
    assert found["check"] == "no-network"
    assert {each["searched"] for each in found["comparison"]["fields"]} == {None}
    assert "not checked here The proof needs the network" in text
    assert "≠" not in text


async def test_who_was_heard_of_last(shown: Home, shown_world: World) -> None:
    state = shown_world.state
    async with visiting(shown) as visitor:
        members = (await visitor.get("/api/v1/network")).json()["answer"]["members"]
        (day, *_) = (await visitor.get("/api/v1")).json()["answer"]["stretches"]
    newest = {each.peer.hex(): each.batches[-1].index for each in state.batches.identities}
    assert {each["key"]: each["last_entry"] for each in members if each["role"] == "contributor"} == newest
    last = max(each.index for each in state.subjects.all if each.verdict is not None)
    assert next(each["lag"] for each in members if each["role"] == "verifier") <= state.size - 1 - last
    assert day["contributors"] == len(newest)


async def test_tags(shown: Home, shown_world: World) -> None:
    async with visiting(shown) as visitor:
        first = await visitor.get("/releases")
        tag = first.headers["etag"]
        assert tag.startswith(f'W/"{shown_world.state.size}-')
        again = await visitor.get("/releases", headers={"If-None-Match": f'"x", {tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert (await visitor.get("/releases", headers={"If-None-Match": '"1-0"'})).status_code == 200


async def test_tags_are_of_one_history_and_node(shown: Home) -> None:
    async with visiting(shown) as visitor:
        found = await visitor.get("/api/v1/releases")
    assert f"-{found.json()['seen']['log_root'][:16]}-{found.json()['seen']['node'][:16]}-" in found.headers["etag"]


async def test_a_file_that_is_gone_is_no_mistake(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "gone")
    async with visiting(home) as visitor:
        assert (await visitor.get("/")).status_code == 503
        for path in ("/nothing", "/api/v1/nothing"):
            answer = await visitor.get(path)
            assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store")


async def test_answers_are_compressed(shown: Home) -> None:
    async with visiting(shown) as visitor:
        assert (await visitor.get("/")).headers["content-encoding"] == "gzip"
        plain = await visitor.get("/", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert "<h1>" in plain.text


async def test_short_names_lead_to_the_whole(shown: Home, shown_world: World) -> None:
    release, peer = shown_world.state.release.id.hex(), shown_world.peers["bob"].public.hex()
    async with visiting(shown) as visitor:
        for base, name in (("releases", release), ("contributors", peer), ("proofs", proof_name(shown_world))):
            for digits in (8, 11, 63):
                answer = await visitor.get(f"/{base}/{name[:digits].upper()}")
                assert (answer.status_code, answer.headers["location"]) == (302, f"/{base}/{name}")
            answer = await visitor.get(f"/{base}/{name[:8]}?before=7&x=1")
            assert answer.headers["location"] == f"/{base}/{name}?before=7&x=1"
            if base == "proofs":
                assert (await visitor.get(f"/proofs/{name[:8]}/file")).headers["location"] == f"/proofs/{name}/file"
            answer = await visitor.get(f"/api/v1/{base}/{name[:9]}")
            assert answer.headers["location"] == f"/api/v1/{base}/{name}"
            for wrong in (name[:7], "0" * 64, f"{name}0", "x" * 8, "%00" * 9):
                answer = await visitor.get(f"/{base}/{wrong}")
                assert answer.status_code == 404, wrong
                assert "Not here" in words(answer.text)
                assert (await visitor.get(f"/api/v1/{base}/{wrong}")).json()["error"].endswith(".")


async def test_what_is_no_question(shown: Home) -> None:
    async with visiting(shown) as visitor:
        for path in ("/releases?before=x", "/contributors?window=year", "/contributors?before=9", "/bans?before=-1"):
            answer = await visitor.get(path)
            assert answer.status_code == 400, path
            assert "before= wants" in answer.text or "window= is one of day, week, all" in answer.text
        assert (await visitor.get("/nothing")).status_code == 404
        assert (await visitor.get("/static/../app.py")).status_code == 404
        assert (await visitor.post("/releases")).status_code == 405
        head = await visitor.head("/releases")
        assert (head.status_code, head.content) == (200, b"")


async def test_every_answer_is_guarded(shown: Home) -> None:
    async with visiting(shown) as visitor:
        for path in ("/", "/api/v1/bans", "/nothing", "/static/pages.css", "/audit"):
            headers = (await visitor.get(path)).headers
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'")
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"


async def test_who_asks_too_often_waits(shown: Home, autojump_clock: object) -> None:
    app = make_app(shown, Faults(print))
    async with visiting(shown) as visitor:
        visitor._transport.app = app  # type: ignore[attr-defined]
        statuses = [(await visitor.get("/nothing")).status_code for _ in range(AT_ONCE + 5)]
        assert statuses == [404] * AT_ONCE + [429] * 5
        assert (await visitor.get("/static/pages.css")).status_code == 200
        assert (await visitor.get("/public/checkpoint")).status_code == 200
        visitor._transport.client = ("192.0.2.8", 1)  # type: ignore[attr-defined]
        assert (await visitor.get("/nothing")).status_code == 404


async def test_the_audit_page_is_served_beside_the_folder(shown: Home, shown_world: World) -> None:
    async with visiting(shown) as visitor:
        page = (await visitor.get("/audit")).text
        assert 'content="/public/"' in page
        for path in re.findall(r'(?:src|href)="(/static/[^"]*)"', page):
            assert (await visitor.get(path)).status_code == 200, path
            assert (await visitor.get(path)).headers["cache-control"].endswith("immutable"), path
        assert "no-cache" in (await visitor.get("/static/page.css")).headers["cache-control"]
        assert '<a href="/audit">' in (await visitor.get("/")).text
        checkpoint = await visitor.get("/public/checkpoint")
        assert checkpoint.content == (shown.public / "checkpoint").read_bytes()
        assert (await visitor.get("/public/../keys/root")).status_code == 404
        for path in ("/public/nothing", "/static/nothing"):
            missing = await visitor.get(path)
            assert (missing.status_code, missing.text) == (404, "There is no such page.\n")
        assert (await visitor.get("/public/%2e%2e/keys/root")).status_code == 404
        assert (await visitor.get("/public/%00")).status_code == 404


async def test_a_link_that_leads_to_itself_is_no_file(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "looped")
    (home.public / "loop").symlink_to("loop")
    async with visiting(home) as visitor:
        for path in ("loop", "loop/checkpoint"):
            assert (await visitor.get(f"/public/{path}")).status_code == 404
        home.public.rename(tmp_path / "public")
        home.public.symlink_to(home.public)
        assert (await visitor.get("/public/checkpoint")).status_code == 404


async def test_the_folder_to_audit_may_come_later(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "late")
    fill(home)
    home.public.rename(tmp_path / "public")
    async with visiting(home) as visitor:
        answer = await visitor.get("/audit")
        assert answer.status_code == 404
        assert "No published log is here" in words(answer.text)
        assert (await visitor.get("/public/checkpoint")).status_code == 404
        (tmp_path / "public").rename(home.public)
        assert (await visitor.get("/audit")).status_code == 200
        assert (await visitor.get("/public/checkpoint")).status_code == 200


async def test_before_anything_is_taken_in(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "new")
    open_to_write(home.directory / NAME, grown_world().run).close()
    async with visiting(home) as visitor:
        answer = await visitor.get("/")
        assert answer.status_code == 503
        assert "the log is being read" in words(answer.text)
        assert (await visitor.get("/api/v1/releases")).json()["error"].startswith("Nothing can be shown yet")
        fill(home)
        assert (await visitor.get("/")).status_code == 200


async def test_words_of_others_are_never_html(tmp_path: Path) -> None:
    home = make_home(grown_world(), tmp_path / "named")
    fill(home)
    name = """<b>&'"x"""
    db = sqlite3.connect(home.directory / NAME)
    with db:
        db.execute("UPDATE contributors SET name = ?, reason = ?, standing = ?", (name, name, name))
        db.execute("UPDATE releases SET name = ?", (name,))
        db.execute("UPDATE run SET name = ?", (name,))
    db.close()
    key = grown_world().peers["ada"].public.hex()
    async with visiting(home) as visitor:
        for path in ("/", "/releases", "/contributors", f"/contributors/{key}", "/network", f"/contributors?q={name}"):
            html = (await visitor.get(path)).text
            assert "<b>" not in html
            assert """'"x""" not in html
            assert name in words(html)


@pytest.mark.parametrize("path", ["/?x=time", "/?x=nonsense", "/?refused=no"])
async def test_the_graph_in_its_forms(shown: Home, path: str) -> None:
    async with visiting(shown) as visitor:
        html = (await visitor.get(path)).text
    assert '<svg class="graph"' in html
    assert ("rows of data</text>" in html) != ("time</text>" in html)
