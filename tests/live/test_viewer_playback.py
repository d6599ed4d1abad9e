"""The viewer's bar of a recording that is played: slider, pause and steps, speed, arrow keys; the server is asked by another client where it stands,
and the ball, which flies at constant speed, is where it was at that time."""
import browser as browsers
import pytest
from browser import open_pages
from conftest import Server, eventually

STEP_S, TICKS, SPEED_M_PER_S = 0.001, 12_000, 0.05
DURATION_S = (TICKS - 1) * STEP_S
SCENE = f"""title = "A ball that flies by"
step_s = {STEP_S}
gravity_m_per_s2 = [0, 0, 0]

[[body]]
name = "ball"
position_m = [-0.3, 0, 0.3]
linear_velocity_m_per_s = [{SPEED_M_PER_S}, 0, 0]
mass_kg = 1
[[body.shape]]
kind = "sphere"
radius_m = 0.1
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    path = folder / "flight.mcap"
    server = Server(folder, "--lockstep", "--record", path, scene=SCENE).start()
    try:
        with server.connect() as client, client.lockstep() as lockstep:
            for _ in range(TICKS // 1000):
                lockstep.step(1000)
        assert server.terminate() == 0
    finally:
        server.kill()
    return path


@pytest.fixture(params=["", "page"], ids=["worker", "page"])
def home(request, monkeypatch):
    monkeypatch.setattr(browsers, "HOME", request.param)


@pytest.fixture
def server(make_server, recording):
    started = make_server("--play", recording, "--speed", "0.1")  # it does not end while the test looks on
    started.duration_s = 600
    return started.start()


@pytest.fixture
def page(home, browser, server, request):
    for opened in open_pages(browser, request.node.name, server, width=1000, height=600):
        opened.wait("s.playing")
        yield opened


@pytest.fixture
def client(server):
    with server.connect(name="onlooker") as connected:
        yield connected


def ask(page, script):
    return page.do("evaluate", script=f"(() => {{ {script} }})()")


def pause(page, client):
    page.do("press", key=" ")
    assert eventually(lambda: client.playback().paused, timeout_s=30)


def stands_at(page, client, seconds, within=1e-4):
    """Server, words, slider and picture all say so."""
    assert eventually(lambda: abs(client.playback().position_s - seconds) < within, timeout_s=30), client.playback().position_s
    x = -0.3 + SPEED_M_PER_S * seconds
    assert eventually(lambda: abs(page.where("ball")["p_W"][0] - x) < SPEED_M_PER_S * (within + 2 * STEP_S), timeout_s=30), (page.where("ball"), x)
    words = f"{int(seconds // 60)}:{seconds % 60:05.2f}"
    assert page.do("wait", script=f"document.getElementById('play-position').textContent === '{words}'"), words
    assert page.do("wait", script=f"Math.abs(document.getElementById('play-slider').value - {seconds}) < {within}")


def test_the_bar_is_in_sight_with_the_recordings_length_and_what_cannot_be_is_not(page, client, recording):
    assert client.playback().duration_s == pytest.approx(DURATION_S, abs=2 * STEP_S)
    assert page.do("wait", script="document.getElementById('play-end').textContent === '0:12.00'")
    shown = "const b = document.getElementById('{}').getBoundingClientRect(); return b.width * b.height > 0 && b.right <= innerWidth && b.bottom <= innerHeight;"
    assert all(ask(page, shown.format(name)) for name in ("play-slider", "play-position", "play-end", "play-speed", "pause"))
    assert not any(ask(page, shown.format(name)) for name in ("reset", "gains-toggle", "model"))
    assert recording.name in ask(page, "return document.getElementById('playback').title;")


def test_a_live_world_has_no_such_bar(browser, make_server):
    server = make_server(scene=SCENE).start()
    for page in open_pages(browser, "live", server, width=1000, height=600):
        assert not page.summary()["playing"]
        assert ask(page, "return document.getElementById('playback').hidden;")
        page.do("press", key="ArrowRight")
        assert page.summary()["position_s"] == 0


def test_the_slider_goes_to_any_place_and_back(page, client):
    pause(page, client)
    for seconds in (9.0, 2.5, 11.0, 0.0, 6.25):
        page.do("fill", selector="#play-slider", value=f"{seconds:g}")
        stands_at(page, client, seconds)


def test_a_slider_that_is_dragged_leads_the_picture_and_stays_where_it_is_let_go(page, client):
    box = ask(page, "const b = document.getElementById('play-slider').getBoundingClientRect(); return [b.left, b.top + b.height / 2, b.width];")
    page.do("drag", x=box[0] + box[2] / 4, y=box[1], dx=box[2] / 2, dy=0, hold_ms=300)
    reached = ask(page, "return Number(document.getElementById('play-slider').value);")
    assert reached == pytest.approx(0.75 * DURATION_S, abs=0.05 * DURATION_S)
    assert eventually(lambda: reached - 0.01 < client.playback().position_s < reached + 2, timeout_s=30)  # it is not paused
    assert ask(page, "return Number(document.getElementById('play-slider').value);") == reached  # in the hand, the states do not move it
    page.do("drop")
    assert page.do("wait", script=f"Number(document.getElementById('play-slider').value) > {reached}")  # it goes on with them


def test_pause_steps_and_resume(page, client):
    page.do("click", selector="#pause")
    assert eventually(lambda: client.playback().paused, timeout_s=30)
    page.wait("s.paused")
    page.do("choose", selector="#play-speed", value="1")  # so that a tick of the server is one of the recording
    assert eventually(lambda: client.playback().speed == 1, timeout_s=30)
    at = 3
    page.do("fill", selector="#play-slider", value=str(at))
    stands_at(page, client, at)
    page.do("press", key=".")
    stands_at(page, client, at + STEP_S)
    page.do("press", key="Shift+>")
    stands_at(page, client, at + 11 * STEP_S)
    page.do("click", selector="#step")
    stands_at(page, client, at + 12 * STEP_S)
    page.do("press", key=" ")
    assert eventually(lambda: not client.playback().paused and client.playback().position_s > at + 0.05, timeout_s=30)


def test_the_speed_is_chosen_and_anothers_choice_is_shown(page, client):
    assert ask(page, "return document.getElementById('play-speed').value;") == "0.1"
    page.do("choose", selector="#play-speed", value="0.25")
    assert eventually(lambda: client.playback().speed == 0.25, timeout_s=30)
    assert eventually(lambda: not client.leases(), timeout_s=30)  # the world is given back, and another may take it
    client.set_speed(0.125)
    assert page.do("wait", script="document.getElementById('play-speed').value === '0.125'")


def test_arrows_go_a_second_with_shift_ten_and_stop_at_the_ends(page, client):
    pause(page, client)
    page.do("fill", selector="#play-slider", value="5")
    stands_at(page, client, 5)
    for key, seconds in (("ArrowRight", 6), ("ArrowRight", 7), ("ArrowLeft", 6), ("Shift+ArrowLeft", 0), ("Shift+ArrowRight", 10), ("Shift+ArrowRight", DURATION_S)):
        page.do("press", key=key)
        stands_at(page, client, min(seconds, client.playback().duration_s), within=STEP_S)


def test_arrows_go_a_second_also_when_the_slider_has_the_keys(page, client):
    pause(page, client)
    page.do("fill", selector="#play-slider", value="5")
    stands_at(page, client, 5)
    ask(page, "document.getElementById('play-slider').focus();")
    for key, seconds in (("ArrowRight", 6), ("ArrowLeft", 5), ("ArrowLeft", 4)):
        page.do("press", key=key)
        stands_at(page, client, seconds)


def test_who_holds_the_world_keeps_the_playback_and_the_page_says_so(page, client):
    with client.claim("world"):
        page.do("choose", selector="#play-speed", value="5")
        assert page.do("wait", script="document.getElementById('toast').textContent.includes('onlooker')")
        assert page.do("wait", script="document.getElementById('play-speed').value === '0.1'")  # as it is
        assert client.playback().speed == 0.1
