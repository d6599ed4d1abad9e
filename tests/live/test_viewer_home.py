"""The viewer's two homes, a worker and the page's own thread: which one there is, and what test_viewer.py asks of the viewer, of the second, too."""
import browser as browsers
import pytest
from browser import READY, Page, open_pages
from test_viewer import (  # noqa: F401  the first runs in a worker
    page, server, test_a_body_that_is_dragged_moves_and_is_let_go, test_a_haptic_device_is_drawn_plotted_and_said_in_words,
    test_a_joint_is_driven_by_its_slider_and_let_go, test_a_server_that_is_killed_and_comes_back_is_found_again,
    test_a_server_with_a_token_asks_for_it_refuses_a_wrong_one_by_name_and_never_sees_it, test_pause_step_reset, test_the_model_is_switched_and_shown,
    test_the_scene_appears_where_the_state_says, test_two_viewers_and_a_commander_share)  # fmt: skip
from test_viewer_picture import test_plots_hold_zoom_and_follow_again as plots_hold_zoom_and_follow_again


@pytest.fixture(autouse=True)
def in_the_page(monkeypatch):
    monkeypatch.setattr(browsers, "HOME", "page")


NO_WORKER = "delete globalThis.Worker"
NO_OFFSCREEN_CANVAS = "delete HTMLCanvasElement.prototype.transferControlToOffscreen"
SCRIPT_NOT_LOADED = "globalThis.Worker = class { constructor() { setTimeout(() => this.onerror?.(new Event('error'))); } terminate() {} postMessage() {} }"
FORBIDDEN = "globalThis.Worker = class { constructor() { throw new DOMException('no', 'SecurityError'); } }"
WITHOUT_PICTURES = """globalThis.Worker = class { constructor() { setTimeout(() => this.onmessage?.({ data: { type: "able", able: false } })); } terminate() {} postMessage() {} }"""


@pytest.mark.parametrize("missing, home", [("", "worker"), (NO_WORKER, "page"), (NO_OFFSCREEN_CANVAS, "page"), (SCRIPT_NOT_LOADED, "page"), (FORBIDDEN, "page"),
                                           (WITHOUT_PICTURES, "page")])  # fmt: skip
def test_the_home_is_a_worker_where_it_can_draw_and_else_the_page(browser, server, monkeypatch, missing, home):
    monkeypatch.setattr(browsers, "HOME", "")
    opened = Page(browser, "home", server, init=missing)
    opened.wait(READY)
    assert opened.summary()["home"] == home
    assert opened.do("evaluate", script="typeof tactusHome") == ("undefined" if home == "worker" else "object")
    assert opened.home("return typeof document;") == ("undefined" if home == "worker" else "object")
    assert opened.do("said") == []
    opened.do("close")


def test_an_address_may_ask_for_the_page(page):
    assert page.summary()["home"] == "page"


def test_plots_of_the_page_hold_zoom_and_follow_again(browser, server):
    for wide in open_pages(browser, "wide", server, width=1280, height=800):
        plots_hold_zoom_and_follow_again(wide, server)
