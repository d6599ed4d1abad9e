"""The viewer as wide as on a desk (1280 x 800): plots with data that hold and zoom, contacts, trails and shadows where the state says, light and
dark, turning a body, the bar and the keys as another client sees them, robots and their meshes, who holds what."""
import json
import math
import pathlib
import re

import pytest
import tactus
from browser import READY, Page, open_pages
from conftest import REPOSITORY, eventually

URDF = REPOSITORY / "config" / "robots" / "arm7.urdf"
SCENE = f"""title = "A block, a ball high up, an arm"
step_s = 0.001

[[body]]
name = "floor"
mode = "fixed"
[[body.shape]]
kind = "half_space"

[[body]]
name = "block"
position_m = [0, 0, 0.15]
mass_kg = 2
colour = "#c8c8c8"
[[body.shape]]
kind = "box"
size_m = [0.3, 0.3, 0.3]

[[body]]
name = "lamp"
mode = "fixed"
position_m = [0.9, 0, 0.8]
colour = "#d0d000"
[[body.shape]]
kind = "sphere"
radius_m = 0.15

[[robot]]
name = "arm"
urdf = "{URDF}"
position_m = [-1.2, 0, 0]
joint_positions = {{ shoulder_2 = 0.4, elbow = 1.2, wrist_2 = 0.6 }}
drive = [{", ".join(f'{{joint = "{name}", kind = "position", target_rad = {at}, bandwidth_rad_per_s = 30}}'
                    for name, at in (("shoulder_1", 0), ("shoulder_2", 0.4), ("shoulder_3", 0), ("elbow", 1.2), ("wrist_1", 0), ("wrist_2", 0.6), ("wrist_3", 0)))}]
"""  # fmt: skip
PLOTS = {"beat": "wake late", "penetration": "overlap", "energy": "energy", "contacts": "Contacts", "joints": "torques", "quality": "Cycles"}
OUT = pathlib.Path(__file__).resolve().parents[1] / "out"


@pytest.fixture
def server(make_server):
    started = make_server(scene=SCENE)
    started.duration_s = 900
    return started.start()


@pytest.fixture
def page(browser, server, request):
    yield from open_pages(browser, request.node.name, server, expected=("WebSocket connection",), width=1280, height=800)


def ask(page, script):
    return page.do("evaluate", script=f"(() => {{ {script} }})()")


def still(page):
    """Paused, and drawn since."""
    page.do("press", key=" ")
    page.wait("s.paused")
    redraw(page)


def redraw(page):
    before = page.summary()["pictures"]
    again = "(tactusHome.stage.dirty = true, false)"
    assert page.do("waitHome", script=f"tactusHome.measured.pictures > {before} + 1 || {again}", timeout_ms=120_000)


def at_point(page, picture, p_W, radius=2):
    """Mean colour around where a point of the world is on the picture."""
    x, y = screen(page, p_W)
    near = [picture.at(x + i, y + j) for i in range(-radius, radius + 1) for j in range(-radius, radius + 1)]
    return tuple(sum(c[k] for c in near) / len(near) for k in range(3))


def screen(page, p_W):
    """Where a point of the world is in the window [CSS pixels]."""
    left, top = page.summary()["view"][:2]
    x, y = page.home(f"""const v = tactusHome.stage.middle.clone().set({p_W[0]}, {p_W[1]}, {p_W[2]});
                         const at = tactusHome.stage.screenOf(v); return [at.x, at.y];""")
    return x + left, y + top


def luminance(colour):
    linear = [c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    """By WCAG 2."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# --- plots

INK = """const ink = (key) => { const c = document.querySelector(`[data-plot=${key}] canvas`); if (!c || c.width === 0) return 0;
  const seen = new OffscreenCanvas(c.width, c.height).getContext("2d"); seen.drawImage(c, 0, 0);  // a worker may draw it
  const d = seen.getImageData(0, 0, c.width, c.height).data; let n = 0;
  for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 120 && Math.max(d[i], d[i + 1], d[i + 2]) - Math.min(d[i], d[i + 1], d[i + 2]) > 70) ++n; return n; };"""
CHART = "const chart = (key) => tactusHome.plots.plots.get(key).chart;"


def test_every_plot_is_in_sight_and_has_drawn_its_data(page, server):
    with server.connect(name="commander") as commander:
        commander.control(["block"], lambda state: {"block": tactus.Wrench(force=(2, 0, 0))}, duration_s=4)
        for key, title in PLOTS.items():
            assert page.do("wait", script=f"(() => {{ {INK} return ink('{key}') > 30; }})()", timeout_ms=60_000), key  # coloured pixels: axes are grey
            shown = ask(page, f"""const e = document.querySelector('[data-plot={key}]'), b = e.getBoundingClientRect();
                              return {{ hidden: e.hidden, left: b.left, right: b.right, wide: b.width, title: e.textContent }};""")
            assert not shown["hidden"] and shown["wide"] > 200 and shown["right"] <= 1280, key
            assert title.lower() in shown["title"].lower()
    # What is plotted is what the server says: the arm's shoulder holds itself up.
    with server.connect() as client:
        effort = client.subscribe(joints=["arm"]).newest().robot("arm").effort
        drawn = page.home(f"{CHART} return chart('joints').data.slice(1, 7).map((line) => line.at(-1));")
        assert drawn == pytest.approx(list(effort[:6]), rel=0.05, abs=0.05)


def test_plots_hold_zoom_and_follow_again(page, server):
    end = f"{CHART} return chart('beat').data[0].at(-1) ?? 0;"
    assert page.do("waitHome", script=f"(() => {{ {end} }})() > 1")
    page.do("press", key="p")
    held = page.home(end)
    tick = page.summary()["tick"]
    page.wait(f"s.tick > {tick} + 800")
    assert page.home(end) == held and ask(page, "return document.getElementById('plots-pause').getAttribute('aria-pressed');") == "true"
    page.do("click", selector="#plots-pause")
    assert page.do("waitHome", script=f"(() => {{ {end} }})() > {held}")
    # A drag across the middle third zooms there; what comes later does not move it; a double click follows again.
    box = ask(page, "const b = document.querySelector('[data-plot=beat] canvas').getBoundingClientRect(); return [b.left, b.top, b.width, b.height];")
    scale = f"{CHART} const x = chart('beat').x; return [x.min, x.max];"
    before = page.home(scale)
    page.do("drag", x=box[0] + box[2] / 3, y=box[1] + box[3] / 2, dx=box[2] / 3, dy=0, hold_ms=50)
    page.do("drop")
    zoomed = page.home(scale)
    assert 0 < zoomed[1] - zoomed[0] < 0.6 * (before[1] - before[0])
    tick = page.summary()["tick"]
    page.wait(f"s.tick > {tick} + 1500")
    assert page.home(scale) == zoomed
    page.do("dblclick", x=box[0] + box[2] / 2, y=box[1] + box[3] / 2)
    assert page.do("waitHome", script=f"(() => {{ const [a, b] = (() => {{ {scale} }})(); return b > {zoomed[1]} + 1; }})()")


# --- the scene

MARKS = """const m = tactusHome.contacts.marks, n = tactusHome.contacts.count, at = (a, i) => [a.getX(i), a.getY(i), a.getZ(i)];
  return Array.from({ length: n }, (_, i) => ({ p: at(m.line, 2 * i), tip: at(m.line, 2 * i + 1), colour: at(m.colour, i), n0: at(tactusHome.contacts.line, 2 * i), n1: at(tactusHome.contacts.line, 2 * i + 1) }));"""


def unit(v):
    size = math.hypot(*v)
    return [x / size for x in v]


def difference(a, b):
    return [x - y for x, y in zip(a, b)]


def test_contacts_are_drawn_where_the_state_has_them_along_their_forces_and_normals(page, server):
    page.do("press", key="n")
    still(page)
    assert page.do("waitHome", script="tactusHome.contacts.count === 4")
    with server.connect() as client:
        contacts = client.subscribe(contacts=True).newest().contacts
        marks = page.home(MARKS)
        assert len(contacts) == len(marks) == 4
        lengths = []
        for mark in marks:
            c = min(contacts, key=lambda c: math.dist(c.p_WC, mark["p"]))
            assert math.dist(c.p_WC, mark["p"]) < 1e-3
            up = 1 if c.body_a == "block" else -1  # on what can move
            assert difference(unit(difference(mark["tip"], mark["p"])), [up * x for x in unit(c.force_A_W)]) == pytest.approx([0, 0, 0], abs=0.02)
            assert difference(unit(difference(mark["n1"], mark["n0"])), c.nhat_BA_W) == pytest.approx([0, 0, 0], abs=0.02)
            lengths.append(math.dist(mark["tip"], mark["p"]) / math.sqrt(math.hypot(*c.force_A_W)))
        assert max(lengths) == pytest.approx(min(lengths), rel=0.02)  # as the square root of the force
    # On the picture: red along the arrow, the phase's green at the point, a normal's blue; nothing of it when switched off.
    OUT.mkdir(exist_ok=True)
    with_marks = page.shot(OUT / "viewer_contacts.png")
    for key in "can":
        page.do("press", key=key)
    redraw(page)
    without = page.shot(OUT / "viewer_no_contacts.png")
    front = min(marks, key=lambda m: m["p"][1])  # nearest to the eye
    middle = [(a + b) / 2 for a, b in zip(front["p"], front["tip"])]
    for point, is_it in ((middle, is_force_red), (front["p"], is_resting_green)):
        x, y = screen(page, point)
        around = [(int(x) + i, int(y) + j) for i in range(-4, 5) for j in range(-4, 5)]
        assert any(is_it(with_marks.at(*p)) for p in around), [with_marks.at(*p) for p in around]
        assert not any(is_it(without.at(*p)) for p in around)


def is_force_red(c):
    return c[0] > 150 and c[1] < 0.5 * c[0] and c[2] < 0.7 * c[0]


def is_resting_green(c):
    return c[1] > 130 and c[0] < 0.6 * c[1] and c[2] < 0.95 * c[1]


def test_a_moved_body_leaves_a_trail_from_where_it_was(page, server):
    page.do("press", key="t")
    redraw(page)  # the path begins with a picture
    with server.connect(name="pusher") as client:
        start = client.read()["block"].p_WB
        client.control(["block"], lambda state: {"block": tactus.Wrench(force=(16, 0, 0))}, duration_s=1.2)
        assert eventually(lambda: client.read()["block"].p_WB[0] > start[0] + 0.15)
    before = page.summary()["pictures"]
    page.wait(f"s.pictures > {before} + 1")
    row = page.summary()["bodies"].index("block")
    trail = page.home(f"""const p = tactusHome.trails.lines.geometry.getAttribute('position').array, out = [];
        const bodies = tactusHome.current.bodies.map((b, i) => [b.mode, i]).filter(([m]) => m === 'free' || m === 'link').map(([, i]) => i), b = bodies.indexOf({row});
        for (let k = 0; k < 179; ++k) {{ const at = 6 * (b * 180 + k); if (p[at] || p[at + 1] || p[at + 2]) out.push([p[at], p[at + 1], p[at + 2], p[at + 3], p[at + 4], p[at + 5]]); }}
        return out;""")
    now = page.where("block")["p_W"]
    assert len(trail) >= 2 and math.dist(trail[0][:3], now) < 0.1  # the newest piece begins at the body
    assert min(math.dist(piece[3:], start) for piece in trail) < 0.1  # an old one where it was
    for newer, older in zip(trail, trail[1:]):
        assert newer[3:] == pytest.approx(older[:3])  # in one line
    page.do("press", key="t")
    assert page.do("home", script="tactusHome.trails.lines.visible") is False


def test_a_body_casts_its_shadow_on_the_ground(page, server):
    for key in "ca":
        page.do("press", key=key)
    still(page)
    sun = page.home("const s = tactusHome.stage.sun; return s.position.clone().sub(s.target.position).toArray();")
    shadow = [0.9 - 0.8 * sun[0] / sun[2], -0.8 * sun[1] / sun[2], 0]  # of the middle of the lamp
    lit = [shadow[0] - 0.4, shadow[1] - 0.25, 0]  # towards the eye, clear of all shadows
    OUT.mkdir(exist_ok=True)
    picture = page.shot(OUT / "viewer_shadow.png")
    # wide enough for the floor's lines not to count: on a busy machine the second picture may be drawn coarser
    dark, bright = (luminance(at_point(page, picture, p, 14)) for p in (shadow, lit))
    assert dark < 0.85 * bright, (dark, bright)
    page.home("tactusHome.stage.sun.castShadow = false;")
    redraw(page)
    bare = page.shot(OUT / "viewer_no_shadow.png")
    gone, still_lit = (luminance(at_point(page, bare, p, 14)) for p in (shadow, lit))
    assert gone > 1.15 * dark and still_lit == pytest.approx(bright, rel=0.03)


def test_a_robot_is_drawn_where_its_links_are(page, server):
    for key in "ca":
        page.do("press", key=key)
    still(page)
    picture = page.shot(OUT / "viewer_robot.png")
    page.home("for (const { mesh, parts } of tactusHome.current.batches) { const keep = parts.some((p) => tactusHome.current.names[p.body].startsWith('arm/')); mesh.visible = !keep; }")
    redraw(page)
    without = page.shot(OUT / "viewer_no_robot.png")
    with server.connect() as client:
        state = client.read()
        links = [name for name in state.bodies if name.startswith("arm/")]
        assert len(links) == 7
        for name in links:
            assert math.dist(page.where(name)["p_W"], state[name].p_WB) < 1e-3
    changed = sum(any(abs(a - b) > 20 for a, b in zip(picture.at(*page.on_page(name)), without.at(*page.on_page(name)))) for name in links)
    assert changed >= 5, changed  # of seven: some origins lie at the surface


TETRA = "v 0 0 0\nv 0.5 0 0\nv 0 0.5 0\nv 0 0 0.5\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MESH_URDF = """<robot name="mesh"><link name="base"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0 0"/><geometry><box size="0.3 0.3 0.05"/></geometry></collision></link>
<link name="world"/><joint name="bolt" type="fixed"><parent link="world"/><child link="base"/></joint><link name="fin"><inertial><origin xyz="0.1 0.1 0.1"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="tetra.obj"/></geometry></collision></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="fin"/><origin xyz="0 0 0.4"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="5"/></joint></robot>"""


def test_the_mesh_of_a_robot_is_in_the_picture(browser, make_server, tmp_path):
    (tmp_path / "tetra.obj").write_text(TETRA)
    (tmp_path / "mesh.urdf").write_text(MESH_URDF)
    server = make_server(scene=f'title = "A robot with a mesh"\nstep_s = 0.001\n[[robot]]\nname = "m"\nurdf = "{tmp_path}/mesh.urdf"\n')
    server.duration_s = 600
    server.start()
    page = Page(browser, "mesh", server, width=1280, height=800)
    page.wait(READY)
    corners = "tactusHome.current.batches.map((b) => [b.mesh.geometry.getAttribute('position').count, tactusHome.current.names[b.parts[0].body]])"
    assert page.do("waitHome", script=f"{corners}.some(([n, name]) => n === 12 && name === 'm/fin')")  # four triangles
    still(page)
    inside = [0.1, 0.1, 0.5]  # through its slanted face, as seen from the front
    picture = page.shot(OUT / "viewer_mesh.png")
    page.home("tactusHome.current.batches.find((b) => tactusHome.current.names[b.parts[0].body] === 'm/fin').mesh.visible = false;")
    redraw(page)
    without = page.shot(OUT / "viewer_no_mesh.png")
    assert max(abs(a - b) for a, b in zip(at_point(page, picture, inside), at_point(page, without, inside))) > 20
    page.do("close")


# --- looks

TEXTS = """const out = [], parse = (c) => (c.match(/[\\d.]+/g) ?? []).map(Number), over = (top, below) => { const a = top[3] ?? 1; return [0, 1, 2].map((i) => a * top[i] + (1 - a) * below[i]); };
const srgb = (c) => c.startsWith("color(srgb") ? parse(c.slice(10)).map((x, i) => i < 3 ? 255 * x : x) : parse(c);
for (const e of document.querySelectorAll("body *")) {
  const words = [...e.childNodes].filter((n) => n.nodeType === 3 && n.data.trim()).map((n) => n.data.trim()).join(" "), box = e.getBoundingClientRect();
  if (!words || box.width === 0 || box.height === 0 || e.closest("[hidden], :disabled, dialog:not([open])") || e.tagName === "OPTION") continue;
  const layers = []; for (let at = e; at; at = at.parentElement) layers.push(srgb(getComputedStyle(at).backgroundColor));
  let back = srgb(getComputedStyle(document.body).backgroundColor); for (const layer of layers.reverse()) back = over(layer, back);
  out.push([words, over(srgb(getComputedStyle(e).color), back), back, e.id || e.parentElement.id]);
}
return out;"""


def test_light_and_dark_differ_and_all_words_can_be_read(page, server):
    with server.connect(name="commander") as commander:
        commander.control(["block"], lambda state: {"block": tactus.Wrench()}, duration_s=1)  # plots and clients with words of their own
    still(page)
    page.do("press", key="g")
    backs = {}
    for theme in ("light", "dark"):
        if ask(page, "return document.documentElement.dataset.theme;") != theme:
            page.do("press", key="l")
        assert ask(page, "return document.documentElement.dataset.theme;") == theme
        page.do("press", key="?")
        redraw(page)
        poor = [(words, round(contrast(text, back), 2)) for words, text, back, _ in ask(page, TEXTS) if contrast(text, back) < 4.5]
        assert not poor, (theme, poor)
        assert len(ask(page, TEXTS)) > 60
        page.do("press", key="?")
        page.do("press", key="g")
        redraw(page)
        picture = page.shot(OUT / f"viewer_{theme}_1280.png")
        backs[theme] = [luminance(picture.at(*p)) for p in ((640, 5), (1270, 790), (40, 200), (400, 60))]  # bar, side, sky twice
        page.do("press", key="g")
    assert all(light > 0.5 and dark < 0.08 for light, dark in zip(backs["light"], backs["dark"])), backs


def test_the_browsers_wish_for_dark_is_met_at_once(browser, server):
    page = Page(browser, "dark", server, width=1280, height=800, dark=True)
    page.wait(READY)
    assert ask(page, "return document.documentElement.dataset.theme;") == "dark"
    page.do("close")


# --- what the user does, as another client sees it


def turned(q):
    return 2 * math.acos(min(1, abs(q[0])))


def test_shift_and_drag_turns_a_body_by_a_torque_with_a_verdict(page, server):
    with server.connect(name="onlooker") as client:
        start = client.read()["block"].p_WB
        x, y = page.on_page("block")
        page.do("drag", x=x, y=y, dx=220, dy=0, hold_ms=1500, modifiers=["Shift"])
        page.wait("s.pushing && s.sent > 10 && ['applied', 'clamped', 'superseded', 'held'].includes(s.verdict)")
        assert [e.channel for e in client.leases()] == ["body/block/wrench"]
        assert page.do("wait", script="/turning block: .* N m, /.test(document.getElementById('status').textContent)")
        stream = client.subscribe(wrench=True)
        assert eventually(lambda: abs(stream.newest()["block"].torque_W[2]) > 0.1 and max(map(abs, stream.newest()["block"].force_W)) == 0, timeout_s=30)
        assert eventually(lambda: turned(client.read()["block"].q_WB) > 0.15, timeout_s=60)
        page.do("drop", modifiers=["Shift"])
        assert eventually(lambda: not client.leases(), timeout_s=20)
        assert math.dist(client.read()["block"].p_WB, start) < 0.4  # turned, not carried off


def test_the_bar_changes_model_gains_and_scene_of_the_server(page, server):
    with server.connect(name="onlooker") as client:
        page.do("choose", selector="#model", value="lcp")
        assert eventually(lambda: client.statistics().model == "lcp", timeout_s=30)
        page.do("press", key="g")
        settings = client.refresh_scene().settings
        key, value = next((k, v) for k, v in settings.items() if re.fullmatch(r"-?[\d.]+(e-?\d+)?", str(v)) and float(v) > 0 and "friction" not in k)
        wanted = float(value) * 0.5
        page.do("fill", selector=f'[id="setting-{key}"]', value=str(wanted))
        assert eventually(lambda: float(client.refresh_scene().settings[key]) == pytest.approx(wanted), timeout_s=30), (key, value)
        page.do("fill", selector=f'[id="setting-{key}"]', value="no number")  # refused in words, and marked
        assert page.do("wait", script=f"document.getElementById('setting-{key}').classList.contains('bad') && !document.getElementById('toast').hidden")
        assert float(client.refresh_scene().settings[key]) == pytest.approx(wanted)
        names = ask(page, "return [...document.getElementById('scene').options].map((o) => o.value);")
        assert set(client.scenes()) <= set(names)
        page.do("choose", selector="#scene", value="dominoes")
        assert eventually(lambda: client.statistics().scene == "dominoes", timeout_s=60)
        page.wait("s.scene === 'dominoes' && s.bodies.some((b) => b.includes('domino'))")


def test_every_key_that_the_help_names_does_what_it_says(page, server):
    page.do("press", key="?")
    assert page.do("wait", script="document.getElementById('help').open")
    named = ask(page, "return [...document.querySelectorAll('#help dt')].map((d) => d.textContent).join(' ');")
    assert all(key in named for key in ("space", ".", "R", "F", "C, N, A", "T", "[ and ]", "G, J", "P", "H", "L", "?"))
    page.do("press", key="?")
    assert page.do("wait", script="!document.getElementById('help').open")

    with server.connect(name="onlooker") as client:
        page.do("press", key=" ")
        assert eventually(lambda: client.statistics().paused, timeout_s=30)
        tick = client.statistics().tick
        page.do("press", key=".")
        assert eventually(lambda: client.statistics().tick == tick + 1, timeout_s=30)
        page.do("press", key="Shift+>")
        assert eventually(lambda: client.statistics().tick == tick + 11, timeout_s=30)
        page.do("press", key="r")
        assert eventually(lambda: client.statistics().tick < 11, timeout_s=30)
        if client.statistics().paused:
            page.do("press", key=" ")
        assert eventually(lambda: not client.statistics().paused, timeout_s=30)

    def toggles(key, script):
        where = "home" if "tactusHome" in script else "evaluate"
        before = page.do(where, script=script)
        page.do("press", key=key)
        assert page.do(where, script=script) != before, key
        page.do("press", key=key)
        assert page.do(where, script=script) == before, key

    toggles("c", "tactusHome.contacts.marks.dots.visible")
    toggles("n", "tactusHome.contacts.normals[0].visible")
    toggles("a", "tactusHome.contacts.marks.lines.visible")
    toggles("t", "tactusHome.trails.lines.visible")
    toggles("g", "document.getElementById('gains').hidden")
    toggles("j", "document.getElementById('joints').hidden")
    toggles("p", "tactusHome.plots.held")
    toggles("h", "document.getElementById('side').getBoundingClientRect().width > 0")
    toggles("l", "document.documentElement.dataset.theme")
    page.do("press", key="]")
    assert page.do("home", script="tactusHome.push.gain") == 2
    page.do("press", key="[")
    assert page.do("home", script="tactusHome.push.gain") == 1
    page.home("tactusHome.stage.camera.position.x += 5; tactusHome.stage.controls.update();")
    page.do("press", key="f")
    assert all(0 < a < b for a, b in zip(screen(page, page.where("block")["p_W"]), (968, 800)))


def test_who_holds_a_body_or_a_joint_is_in_sight(page, server):
    held = "[...document.querySelectorAll('#held span')].map((s) => s.textContent)"
    assert page.do("evaluate", script=held) == []
    with server.connect(name="commander") as commander:
        commander.claim("world", "block", "joint/arm/elbow")
        wanted = json.dumps(["arm/elbow held by commander", "block held by commander"])
        assert page.do("wait", script=f"JSON.stringify({held}.sort()) === {json.dumps(wanted)}.replace(', ', ',')")
        boxes = ask(page, "return [...document.querySelectorAll('#held span')].map((s) => { const b = s.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom, document.elementsFromPoint(b.left + 3, b.top + 3).length]; });")
        view = page.summary()["view"]
        assert all(b[0] >= view[0] and b[1] >= view[1] and b[2] <= view[0] + view[2] and b[3] <= view[1] + view[3] for b in boxes)
        assert page.do("wait", script="document.getElementById('holder').textContent === 'commander'")
        factor = ask(page, "const b = document.getElementById('factor').getBoundingClientRect(); return [b.width, b.height, document.getElementById('factor').textContent];")
        assert factor[0] > 0 and factor[1] > 0 and factor[2].endswith("x")
    assert page.do("wait", script=f"{held}.length === 0")
    x, y = page.on_page("block")
    page.do("drag", x=x, y=y, dx=30, dy=0, hold_ms=300)
    assert page.do("wait", script=f"{held}.includes('block held by this viewer')")
    page.do("drop")


def test_a_page_that_was_opened_by_a_name_says_why_it_is_not_let_in_and_what_to_do(browser, make_server, tmp_path):
    server = make_server(scene=SCENE).start()  # robot.test is this machine, for this browser
    page = Page(browser, "by-name", server, host="robot.test")
    assert page.do("wait", script="!document.getElementById('door').hidden")
    said = ask(page, "return document.getElementById('door').textContent;")
    origin = f"http://robot.test:{server.web_port}"
    assert f"http://127.0.0.1:{server.web_port}/" in said and f'[web] allowed_origins = "{origin}"' in said
    # What it says to do helps: the page comes in by itself.
    server.kill()
    (tmp_path / "server.toml").write_text(f'[web]\nallowed_origins = "{origin}"\n')
    server.flags += ["--config", str(tmp_path / "server.toml")]
    server.duration_s = 300
    server.start()
    page.wait("s.phase === 'open' && s.states > 5")
    assert ask(page, "return document.getElementById('door').hidden;")
    page.do("close")
